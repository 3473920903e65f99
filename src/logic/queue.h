// SPDX-License-Identifier: MIT
//
// Queues of messages between threads; a thread has one of its own name.
//
#ifndef BL_LOGIC_QUEUE_H
#define BL_LOGIC_QUEUE_H

#include "logic/machine.h"

struct bl_queue;

bl_word bl_fresh_id(void); // for what is made without an alias

// NULL: the name is in use. `max`: messages it may hold; 0: any number. One of
// a thread goes with it, and no program destroys it.
struct bl_queue *bl_queue_new(bl_word name, int64_t max, bool of_thread);
// For everybody: those that wait there get an error.
void bl_queue_destroy(struct bl_queue *q);

// Sends an atom, from a thread that has no machine, if there is such a queue.
void bl_queue_send_atom(bl_word name, bl_word atom);

// Waits for a message that unifies, and takes it. The queue stays: it is that
// of the thread.
int bl_queue_receive(struct bl_machine *m, struct bl_queue *q, bl_word pattern);
int bl_queue_peek(struct bl_machine *m, struct bl_queue *q, bl_word pattern);

#endif
