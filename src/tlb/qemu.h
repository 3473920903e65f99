// SPDX-License-Identifier: MIT
//
// The part of QEMU's plug-in interface that we use, declared from its
// documentation (docs/devel/tcg-plugins; what is declared here is the same in
// versions 1 to 5 of the interface, QEMU 4.2 to 10.2): Debian ships no header
// of it. The emulator defines these functions; the plug-in defines
// `qemu_plugin_version` and `qemu_plugin_install`.
//
// Instructions and blocks are known during their translation only; what is
// registered then is called on each execution, on the thread that emulates
// the processor of that number.
//
#ifndef BL_TLB_QEMU_H
#define BL_TLB_QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;

struct qemu_plugin_tb;   // a block of instructions in translation
struct qemu_plugin_insn; // one of them

// What the install function is told first: which machine is emulated.
struct qemu_plugin_info {
    const char *target_name;
};

enum { QEMU_PLUGIN_NO_REGISTERS = 0 };
enum qemu_plugin_access { QEMU_PLUGIN_READS = 1, QEMU_PLUGIN_WRITES = 2 };

typedef void qemu_plugin_at_exit(qemu_plugin_id_t id, void *data);
typedef void qemu_plugin_processor(qemu_plugin_id_t id, unsigned processor);
typedef void qemu_plugin_translated(qemu_plugin_id_t id,
                                    struct qemu_plugin_tb *block);
typedef void qemu_plugin_executed(unsigned processor, void *data);
typedef void qemu_plugin_accessed(unsigned processor, uint32_t info,
                                  uint64_t address, void *data);
typedef void qemu_plugin_called(qemu_plugin_id_t id, unsigned processor,
                                int64_t call, uint64_t a1, uint64_t a2,
                                uint64_t a3, uint64_t a4, uint64_t a5,
                                uint64_t a6, uint64_t a7, uint64_t a8);
typedef void qemu_plugin_returned(qemu_plugin_id_t id, unsigned processor,
                                  int64_t call, int64_t result);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id,
                                       qemu_plugin_processor *f);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id,
                                       qemu_plugin_processor *f);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           qemu_plugin_translated *f);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id,
                                          qemu_plugin_called *f);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id,
                                              qemu_plugin_returned *f);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_at_exit *f,
                                    void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
// Where this process sees the instruction's first byte.
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *instruction);

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block,
                                          qemu_plugin_executed *f,
                                          int registers, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(
    struct qemu_plugin_insn *instruction, qemu_plugin_executed *f,
    int registers, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction,
                                      qemu_plugin_accessed *f, int registers,
                                      int accesses, void *data);
unsigned qemu_plugin_mem_size_shift(uint32_t info);

#endif
