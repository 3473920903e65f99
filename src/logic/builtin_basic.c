// SPDX-License-Identifier: MIT
#include "logic/clause.h"
#include "logic/engine.h"
#include "logic/error.h"
#include "logic/record.h"
#include "logic/writer.h"

static int body_kind(struct bl_machine *m, bl_word *a) {
    static const struct {
        enum bl_known_atom name;
        int kind;
    } twos[] = {{BL_ATOM_comma, 1}, {BL_ATOM_semicolon, 5}, {BL_ATOM_arrow, 6},
                {BL_ATOM_softarrow, 7}};
    const bl_word t = bl_deref(a[0]);
    int kind = t == BL_ATOM(cut) ? 2 : 0;
    if (bl_tag(t) == BL_STR) {
        const bl_word f = *bl_ptr(t);
        const bl_word name = bl_functor_name(f);
        for (size_t i = 0; bl_functor_arity(f) == 2 && i < 4; i++)
            if (name == bl_atom_word(twos[i].name))
                kind = twos[i].kind;
        if (bl_functor_arity(f) == 1 && (name == BL_ATOM(not_provable)))
            kind = 8;
        const bl_word left = kind == 5 ? bl_deref(bl_ptr(t)[1]) : 0;
        if (left != 0 && bl_tag(left) == BL_STR) {
            if (*bl_ptr(left) == BL_FN(arrow_2))
                kind = 3;
            if (*bl_ptr(left) == BL_FN(softarrow_2))
                kind = 4;
        }
    }
    return bl_unify(m, a[1], bl_int(kind)) ? BL_TRUE : BL_FAIL;
}

static int write_1(struct bl_machine *m, bl_word *a) {
    struct bl_out o = {0};
    const struct bl_write_options w = {.numbervars = true};
    bl_write_term(m, &o, a[0], &w);
    fwrite(o.text, 1, o.bytes, stdout);
    bl_out_fini(&o);
    return BL_TRUE;
}

static int nl_0(struct bl_machine *m, bl_word *a) {
    (void)m;
    (void)a;
    putchar('\n');
    return BL_TRUE;
}

static int table_1(struct bl_machine *m, bl_word *a) {
    const bl_word t = bl_deref(a[0]);
    (void)m;
    struct bl_pred *p = bl_pred_ensure(
        bl_functor(bl_deref(bl_ptr(t)[1]),
                   (uint32_t)bl_int_value(bl_deref(bl_ptr(t)[2]))));
    bl_pred_make_tabled(p, -1);
    return BL_TRUE;
}

void bl_print_ball(struct bl_machine *m, const char *where) {
    bl_word t;
    struct bl_out o = {0};
    const struct bl_write_options w = {.numbervars = true, .quoted = true};
    if (!bl_record_load(m, m->ball, &t))
        return;
    bl_write_term(m, &o, t, &w);
    fprintf(stderr, "%s: error: %s\n", where ? where : "leaflog", o.text);
    bl_record_free(m->ball);
    m->ball = NULL;
}

void bl_builtins_init(void) {
    bl_pred_define_builtin("$body_kind", 2, body_kind, BL_OP_E_BUILTIN);
    bl_pred_define_builtin("write", 1, write_1, BL_OP_E_BUILTIN);
    bl_pred_define_builtin("nl", 0, nl_0, BL_OP_E_BUILTIN);
    bl_pred_define_builtin("table", 1, table_1, BL_OP_E_BUILTIN);
    for (uint32_t i = 1; i < 9; i++)
        bl_pred_define_builtin("call", i, NULL, BL_OP_E_CALL);
    bl_pred_define_builtin("$cut", 1, NULL, BL_OP_E_CUT);
    bl_pred_define_builtin("$catch", 3, NULL, BL_OP_E_CATCH);
}
