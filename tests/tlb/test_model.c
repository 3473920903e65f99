// SPDX-License-Identifier: MIT
//
// The TLB model: against traces worked out by hand, and against the naive
// model on random traces, for every named machine and for random geometries.
//
#include "bl_test.h"
#include "naive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COSTS "near 64 8 10\nfar 256 8 50\nmemory 200\n"

static struct bl_tlb_geometry parsed(const char *text) {
    struct bl_tlb_geometry g;
    unsigned line;
    const char *fault = bl_tlb_geometry_parse(text, &g, &line);
    if (fault)
        fail_test("line %u: %s", line, fault);
    return g;
}

struct one {
    struct bl_tlb_geometry geometry;
    struct bl_tlb tlb;
    uint64_t *words;
    uint64_t now;
};

static void begin(struct one *o, const char *text) {
    o->geometry = parsed(text);
    const size_t n = bl_tlb_entries(&o->geometry);
    o->words = calloc(2 * n, sizeof *o->words);
    o->now = 0;
    bl_tlb_init(&o->tlb, &o->geometry, o->words, o->words + n, 0);
}

static struct bl_tlb_outcome touch(struct one *o, uint64_t number, bool huge) {
    return bl_tlb_access(&o->tlb, BL_TLB_DATA,
                         (struct bl_tlb_page){number, huge}, ++o->now);
}

#define expect_levels(o, huge, ...)                                            \
    do {                                                                       \
        const uint64_t steps[][2] = {__VA_ARGS__};                             \
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {            \
            bl_test_note("step %zu: page %llu", i,                             \
                         (unsigned long long)steps[i][0]);                     \
            expect_size_eq(touch(o, steps[i][0], huge).level, steps[i][1]);    \
        }                                                                      \
    } while (0)

enum { HIT = BL_TLB_FIRST, NEXT = BL_TLB_SECOND, WALK = BL_TLB_WALK };

TEST(least_recently_used_goes) {
    struct one o;
    begin(&o, "tlb 1 data any 2 full\ntlb 1 code any 2 full\n" COSTS);
    // 1 is used again, so 3 takes the place of 2, and 2 that of 1.
    expect_levels(&o, false, {1, WALK}, {2, WALK}, {1, HIT}, {3, WALK},
                  {1, HIT}, {2, WALK}, {3, WALK}, {1, WALK});
    free(o.words);
}

TEST(pages_compete_within_a_set) {
    struct one o;
    begin(&o, "tlb 1 data any 4 1\ntlb 1 code any 2 full\n" COSTS);
    // Four sets of one entry: 0 and 4 are of the same set, 0 and 1 are not.
    expect_levels(&o, false, {0, WALK}, {1, WALK}, {2, WALK}, {3, WALK},
                  {0, HIT}, {4, WALK}, {1, HIT}, {0, WALK}, {3, HIT});
    free(o.words);
}

TEST(second_level_serves_what_the_first_lost) {
    struct one o;
    begin(&o, "tlb 1 data any 1 full\ntlb 1 code any 1 full\n"
              "tlb 2 both any 4 full\nsecond 7\n" COSTS);
    expect_levels(&o, false, {1, WALK}, {2, WALK}, {1, NEXT}, {2, NEXT},
                  {3, WALK}, {4, WALK}, {1, NEXT}, {5, WALK},
                  // 2 was the least recently used there.
                  {2, WALK}, {1, NEXT});
    expect_size_eq(touch(&o, 2, false).cycles, 7);
    free(o.words);
}

TEST(hits_in_the_first_level_do_not_count_in_the_second) {
    struct one o;
    begin(&o, "tlb 1 data any 2 full\ntlb 1 code any 1 full\n"
              "tlb 2 both any 2 full\n" COSTS);
    // 1 stays in the first level all along, so the second forgets it.
    expect_levels(&o, false, {1, WALK}, {2, WALK}, {1, HIT}, {3, WALK},
                  {1, HIT}, {2, NEXT}, {1, HIT}, {4, WALK}, {5, WALK},
                  {1, WALK});
    free(o.words);
}

TEST(sizes_have_tables_of_their_own) {
    struct one o;
    begin(&o, "tlb 1 data base 1 full\ntlb 1 data huge 1 full\n"
              "tlb 1 code any 1 full\n" COSTS);
    expect_size_eq(touch(&o, 5, false).level, WALK);
    expect_size_eq(touch(&o, 5, true).level, WALK);
    expect_size_eq(touch(&o, 5, false).level, HIT);
    expect_size_eq(touch(&o, 5, true).level, HIT);
    free(o.words);
}

TEST(walks_cost_what_they_read) {
    struct one o;
    begin(&o, "tlb 1 data any 1 full\ntlb 1 code any 1 full\n"
              "structure 2m 2\nstructure 1g 2\nstructure 512g 2\n" COSTS);
    // Nothing is known: four levels from memory.
    expect_size_eq(touch(&o, 0, false).cycles, 800);
    // Its 2 MiB are known, and its entry lies in the same line.
    expect_size_eq(touch(&o, 1, false).cycles, 10);
    // The same 2 MiB, another line.
    expect_size_eq(touch(&o, 8, false).cycles, 200);
    // The next 2 MiB: its directory entry's line is near, the other is new.
    expect_size_eq(touch(&o, 512, false).cycles, 210);
    // A huge page reads no last level: the directory entry alone.
    expect_size_eq(touch(&o, 2, true).cycles, 10);
    // The next 1 GiB: third level near, two new lines.
    expect_size_eq(touch(&o, (uint64_t)512 * 512, false).cycles, 410);
    free(o.words);
}

TEST(lines_fall_back_to_far_ones) {
    struct one o;
    begin(&o, "tlb 1 data any 1 full\ntlb 1 code any 1 full\n"
              "structure 2m 4\nnear 1 1 10\nfar 4 full 50\nmemory 200\n");
    touch(&o, 0, false);
    expect_size_eq(touch(&o, 8, false).cycles, 200);
    expect_size_eq(touch(&o, 0, false).cycles, 50);
    expect_size_eq(touch(&o, 1, false).cycles, 10);
    free(o.words);
}

TEST(faulty_geometries_are_refused) {
    static const struct {
        const char *text;
        unsigned line;
        const char *part;
    } cases[] = {
        {"", 0, "level 1 must serve"},
        {"tlb 1 data any 4 full\n", 0, "level 1 must serve"},
        {"tlb 3 data any 4 full\n", 1, "want: tlb"},
        {"# all\n\ntlb 1 data some 4 full", 3, "want: tlb"},
        {"tlb 1 data any 12 2\n", 1, "power of two"},
        {"tlb 1 data any 0 1\n", 1, "power of two"},
        {"tlb 1 data any 70000 full\n", 1, "power of two"},
        {"tlb 1 both any 4 full\ntlb 1 code huge 4 full\n", 2, "already"},
        {"second\n", 1, "want: second"},
        {"memory -1\n", 1, "want: memory"},
        {"structure 4k 7\n", 1, "want: structure"},
        {"near 12 5 1\n", 1, "want: near"},
        {"cache 1\n", 1, "want one of"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bl_tlb_geometry g;
        unsigned line;
        const char *fault = bl_tlb_geometry_parse(cases[i].text, &g, &line);
        bl_test_note("%s: %s", cases[i].text, fault ? fault : "accepted");
        expect_true(fault && strstr(fault, cases[i].part));
        expect_size_eq(line, cases[i].line);
    }
}

// Three naive models beside a core.
struct pair {
    struct bl_tlb_geometry geometry;
    struct bl_tlb_core core;
    uint64_t *words;
    struct naive *naive[BL_TLB_POLICIES];
    uint64_t differences;
};

static void pair_begin(struct pair *p, const char *text) {
    p->geometry = parsed(text);
    p->words = calloc(bl_tlb_core_words(&p->geometry), sizeof *p->words);
    p->differences = 0;
    bl_tlb_core_init(&p->core, &p->geometry, p->words);
    for (int i = 0; i < BL_TLB_POLICIES; i++)
        p->naive[i] = naive_new(&p->geometry);
}

static void pair_end(struct pair *p) {
    for (int i = 0; i < BL_TLB_POLICIES; i++)
        naive_free(p->naive[i]);
    free(p->words);
    expect_size_eq(p->differences, 0);
}

// Every second 8 MiB is as heap is, the rest on base pages.
static struct bl_tlb_page backed_page(uint64_t address) {
    if (address >> 23 & 1)
        return (struct bl_tlb_page){address >> BL_HUGE_SHIFT, true};
    return (struct bl_tlb_page){address >> BL_BASE_SHIFT, false};
}

static void pair_access(struct pair *p, enum bl_tlb_side side,
                        uint64_t address) {
    struct bl_tlb_outcome out[BL_TLB_POLICIES] = {0};
    const struct bl_tlb_page backed = backed_page(address);
    const struct bl_tlb_page pages[BL_TLB_POLICIES] = {
        {address >> BL_BASE_SHIFT, false},
        {address >> BL_HUGE_SHIFT, true},
        backed};
    if (!bl_tlb_core_hit(&p->core, side, address))
        bl_tlb_core_miss(&p->core, side, address, backed, out);
    for (int i = 0; i < BL_TLB_POLICIES; i++) {
        uint32_t cycles;
        const enum bl_tlb_level level = naive_access(
            p->naive[i], side, pages[i].number, pages[i].huge, &cycles);
        p->differences += level != out[i].level || cycles != out[i].cycles;
    }
}

// Page 1 and its twin 257 share a place in the filter; pages above 8 MiB are
// backed by one huge page here.
TEST(what_the_other_side_brings_is_not_taken_for_its_twin) {
    enum { TWIN = 1 + BL_TLB_FILTER, ABOVE = 8 << 20 >> BL_BASE_SHIFT };
    static const struct {
        enum bl_tlb_side side;
        uint64_t page;
    } accesses[] = {
        {BL_TLB_DATA, 1},
        {BL_TLB_DATA, ABOVE},
        {BL_TLB_DATA, ABOVE + 5},
        {BL_TLB_DATA, ABOVE + 6}, // as base pages: in the place of 1,
        {BL_TLB_DATA, ABOVE},
        {BL_TLB_DATA, ABOVE + 5},
        {BL_TLB_CODE, TWIN}, // which the twin takes; as backed, 1 stays
        {BL_TLB_DATA, TWIN}, // so that this is no use of 1
        {BL_TLB_DATA, 2},
        {BL_TLB_DATA, ABOVE}, // and what is left beside 2 is the huge page
    };
    struct pair p;
    pair_begin(&p, "tlb 1 both any 3 full\n" COSTS);
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++)
        pair_access(&p, accesses[i].side, accesses[i].page << BL_BASE_SHIFT);
    pair_end(&p);
}

// Addresses as programs have them: near the last one, at a favourite place,
// or anywhere.
static void random_trace(struct pair *p, struct bl_random *r, size_t length) {
    uint64_t places[32];
    uint64_t last = 0;
    for (size_t i = 0; i < 32; i++)
        places[i] = bl_random_next(r) >> 18;
    for (size_t i = 0; i < length; i++) {
        const uint64_t x = bl_random_next(r);
        const enum bl_tlb_side side = (x & 7) == 0 ? BL_TLB_CODE : BL_TLB_DATA;
        if ((x >> 3 & 7) < 3)
            last += x >> 6 & 0x3fff;
        else if ((x >> 3 & 7) < 6)
            last = places[x >> 6 & 31] + (x >> 20 & 0xffff);
        else
            last = (x >> 6 & 0xfffffff) + ((x >> 40 & 3) << 40);
        pair_access(p, side, last);
        if ((x >> 44) % 20000 == 0) {
            bl_tlb_core_flush(&p->core);
            for (int k = 0; k < BL_TLB_POLICIES; k++)
                naive_flush(p->naive[k]);
        }
    }
}

TEST(named_machines_agree_with_the_naive_model) {
    static const char *const names[] = {"haswell", "skylake", "icelake", "zen2",
                                        "zen4",    "zen5",    "neoverse"};
    struct bl_random r = {bl_test_seed()};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct pair p;
        const char *text = bl_tlb_geometry_text(names[i]);
        bl_test_note("%s", names[i]);
        assert_true(text);
        assert_true(strstr(bl_tlb_geometry_names, names[i]));
        pair_begin(&p, text);
        random_trace(&p, &r, 200000);
        pair_end(&p);
    }
}

static void random_geometry(struct bl_random *r, char *text, size_t size) {
    static const char *const first[] = {
        "tlb 1 both any %u %u\n", "tlb 1 data any %u %u\ntlb 1 code any 8 2\n",
        "tlb 1 data base %u %u\ntlb 1 data huge 4 full\ntlb 1 code any 4 1\n",
        "tlb 1 data base 8 2\ntlb 1 both huge %u %u\ntlb 1 code base 4 1\n"};
    static const char *const second[] = {"", "tlb 2 both any %u %u\nsecond 7\n",
                                         "tlb 2 data any %u %u\n",
                                         "tlb 2 both base %u %u\nsecond 9\n"};
    const uint64_t x = bl_random_next(r);
    const unsigned ways = 1 + (unsigned)(x & 7);
    char format[256];
    snprintf(format, sizeof format, "%s%s", first[x >> 3 & 3],
             second[x >> 5 & 3]);
    const int n = snprintf(text, size, format, ways << (x >> 7 & 3), ways,
                           (ways + 1) << (x >> 9 & 7), ways + 1);
    snprintf(text + n, size - (size_t)n,
             "structure 2m %u\nstructure 1g %u\nstructure 512g %u\n"
             "near 16 4 10\nfar 64 8 50\nmemory 200\n",
             (unsigned)(x >> 12 & 7), (unsigned)(x >> 15 & 3),
             (unsigned)(x >> 17 & 1));
}

TEST(random_geometries_agree_with_the_naive_model) {
    struct bl_random r = {bl_test_seed()};
    for (int i = 0; i < 200; i++) {
        struct pair p;
        char text[512];
        random_geometry(&r, text, sizeof text);
        pair_begin(&p, text);
        random_trace(&p, &r, 5000);
        if (p.differences)
            bl_test_note("%s", text);
        pair_end(&p);
    }
}
