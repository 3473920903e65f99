// SPDX-License-Identifier: MIT
#include "cli/flame.h"

#include <string.h>

#define WIDTH 1200.0
#define ROW 17
#define HEAD 40
#define LETTER 6.4 // width of one, in pixels
#define LEAST 0.2  // pixels; what is narrower is left out

struct flame {
    FILE *out;
    enum bl_tlb_policy policy;
    double scale; // pixels of a walk
    uint64_t all;
    size_t depth; // rows in all
};

static void put_text(FILE *out, const char *s, size_t most) {
    for (size_t i = 0; s[i] && i < most; i++) {
        const unsigned char c = (unsigned char)s[i];
        if (c == '<')
            fputs("&lt;", out);
        else if (c == '>')
            fputs("&gt;", out);
        else if (c == '&')
            fputs("&amp;", out);
        else if (c == '"')
            fputs("&quot;", out);
        else
            fputc(c < 0x20 || c > 0x7e ? '?' : c, out);
    }
}

static size_t depth_of(const struct flame *f, const struct bl_call_node *n) {
    size_t deepest = 0;
    for (size_t i = 0; i < n->child_count; i++) {
        const struct bl_call_node *c = n->children[i];
        const size_t d = (double)c->walks[f->policy] * f->scale < LEAST
                             ? 0
                             : 1 + depth_of(f, c);
        deepest = d > deepest ? d : deepest;
    }
    return deepest;
}

// Warm, and the same for the same name in every graph.
static unsigned colour(const char *name) {
    unsigned h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    const unsigned red = 205 + h % 50;
    const unsigned green = 80 + (h >> 8) % 140;
    const unsigned blue = 40 + (h >> 16) % 40;
    return red << 16 | green << 8 | blue;
}

static void put_frame(const struct flame *f, const struct bl_call_node *n,
                      double x, size_t row) {
    const uint64_t walks = n->walks[f->policy];
    const double width = (double)walks * f->scale;
    const size_t y = HEAD + (f->depth - row) * ROW;
    const double letters = (width - 6) / LETTER;
    fprintf(f->out,
            "<g><title>%llu walks, %.2f %%: ", (unsigned long long)walks,
            100.0 * (double)walks / (double)f->all);
    put_text(f->out, n->name, 500);
    fprintf(f->out,
            "</title><rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\" "
            "fill=\"#%06x\"/>",
            x, y, width, ROW - 1, colour(n->name));
    fprintf(f->out, "<text x=\"%.2f\" y=\"%zu\">", x + 3, y + 12);
    if (letters >= 3)
        put_text(f->out, n->name, (size_t)letters);
    fputs("</text></g>\n", f->out);
}

static void put_children(const struct flame *f, const struct bl_call_node *n,
                         double x, size_t row) {
    for (size_t i = 0; i < n->child_count; i++) {
        const struct bl_call_node *c = n->children[i];
        const double width = (double)c->walks[f->policy] * f->scale;
        if (width >= LEAST) {
            put_frame(f, c, x, row);
            put_children(f, c, x, row + 1);
        }
        x += width;
    }
}

// A click makes a frame as wide as the picture; one on the ground shows all.
static const char *const script =
    "<script>//<![CDATA[\n"
    "const W=1200,gs=[...document.querySelectorAll('g')].map(g=>{\n"
    " const r=g.querySelector('rect'),t=g.querySelector('text');\n"
    " const n=g.querySelector('title').textContent.replace(/^[^:]*: /,'');\n"
    " return {g,r,t,n,x:+r.getAttribute('x'),w:+r.getAttribute('width')};});\n"
    "function zoom(x,w){for(const f of gs){\n"
    " const a=Math.max(f.x,x),b=Math.min(f.x+f.w,x+w);\n"
    " if(b-a<=0.001){f.g.style.display='none';continue;}\n"
    " f.g.style.display='';const s=W/w,v=(b-a)*s;\n"
    " f.r.setAttribute('x',(a-x)*s);f.r.setAttribute('width',v);\n"
    " f.t.setAttribute('x',(a-x)*s+3);\n"
    " const k=Math.floor((v-6)/6.4);\n"
    " f.t.textContent=k<3?'':f.n.slice(0,k);}}\n"
    "for(const f of gs)f.g.addEventListener('click',()=>zoom(f.x,f.w));\n"
    "document.getElementById('all').addEventListener('click',"
    "()=>zoom(0,W));\n"
    "//]]></script>\n";

void bl_flame_write(FILE *out, const struct bl_misses *m,
                    enum bl_tlb_policy policy, const char *title) {
    struct flame f = {.out = out, .policy = policy};
    f.all = m->root.walks[policy];
    f.scale = f.all ? WIDTH / (double)f.all : 0;
    f.depth = depth_of(&f, &m->root);
    const size_t height = HEAD + (f.depth + 1) * ROW + 8;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
            "height=\"%zu\" viewBox=\"0 0 %.0f %zu\">\n",
            WIDTH, height, WIDTH, height);
    fputs("<style>text{font:11px monospace;pointer-events:none}"
          "g rect:hover{stroke:#000}.h{font:14px sans-serif}</style>\n"
          "<rect id=\"all\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
          "<text class=\"h\" x=\"8\" y=\"22\">",
          out);
    put_text(out, title, 160);
    fputs("</text>\n", out);
    put_children(&f, &m->root, 0, 0);
    fputs(script, out);
    fputs("</svg>\n", out);
}
