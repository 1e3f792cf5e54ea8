/* loop.c: alarms and watched descriptors over libuv. */
#include "harness/real/process/loop.h"

#include "base/assert.h"
#include "base/machine_clock.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

int64_t loop_now_ns(void)
{
    return monotonic_ns();
}

static void loop_alarm_ready(uv_poll_t *poll, int status, int events)
{
    struct loop_alarm *alarm = poll->data;
    uint64_t count;
    (void)events;
    if (status < 0 || read(alarm->fd, &count, sizeof count) != (ssize_t)sizeof count) {
        return; /* set anew between the poll and the read */
    }
    alarm->at_ns = TIME_NEVER;
    alarm->ring(alarm);
}

struct result loop_alarm_init(struct loop_alarm *alarm, uv_loop_t *loop,
                              void (*ring)(struct loop_alarm *alarm), void *context,
                              struct text *why)
{
    memset(alarm, 0, sizeof *alarm);
    alarm->at_ns = TIME_NEVER;
    alarm->ring = ring;
    alarm->context = context;
    alarm->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (alarm->fd < 0) {
        text_add(why, "no timer to be had: %s", strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    int error = uv_poll_init(loop, &alarm->poll, alarm->fd);
    if (error == 0) {
        alarm->poll.data = alarm;
        error = uv_poll_start(&alarm->poll, UV_READABLE, loop_alarm_ready);
    }
    if (error != 0) {
        text_add(why, "the event loop refuses a timer: %s", uv_strerror(error));
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

void loop_alarm_set(struct loop_alarm *alarm, int64_t at_ns)
{
    if (alarm->at_ns == at_ns) {
        return;
    }
    struct itimerspec setting;
    memset(&setting, 0, sizeof setting);
    if (at_ns != TIME_NEVER) {
        int64_t set_ns = at_ns > 0 ? at_ns : 1; /* zero would disarm it */
        setting.it_value.tv_sec = set_ns / NS_PER_S;
        setting.it_value.tv_nsec = set_ns % NS_PER_S;
    }
    ASSERT(timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &setting, NULL) == 0);
    alarm->at_ns = at_ns;
}

static void loop_alarm_closed(uv_handle_t *handle)
{
    struct loop_alarm *alarm = handle->data;
    (void)close(alarm->fd);
}

void loop_alarm_close(struct loop_alarm *alarm)
{
    if (alarm->poll.data == NULL) {
        return; /* it was never made */
    }
    uv_close((uv_handle_t *)&alarm->poll, loop_alarm_closed);
}

static void loop_watch_ready(uv_poll_t *poll, int status, int events)
{
    struct loop_watch *watch = poll->data;
    (void)status; /* an error shows itself when `ready` reads */
    (void)events;
    watch->ready(watch);
}

struct result loop_watch_init(struct loop_watch *watch, uv_loop_t *loop, int fd,
                              void (*ready)(struct loop_watch *watch), struct text *why)
{
    void *context = watch->context;
    memset(watch, 0, sizeof *watch);
    watch->context = context;
    watch->fd = fd;
    watch->ready = ready;
    int error = uv_poll_init(loop, &watch->poll, fd);
    if (error == 0) {
        watch->poll.data = watch;
        error = uv_poll_start(&watch->poll, UV_READABLE | UV_DISCONNECT, loop_watch_ready);
    }
    if (error != 0) {
        text_add(why, "the event loop refuses a descriptor: %s", uv_strerror(error));
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

void loop_watch_close(struct loop_watch *watch)
{
    if (watch->poll.data == NULL) {
        return; /* it was never made */
    }
    uv_close((uv_handle_t *)&watch->poll, NULL);
}
