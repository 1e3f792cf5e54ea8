/* api.h: the mark of what liblockcore exports: these names and no other leave the library. */
#ifndef LOCKCORE_API_H
#define LOCKCORE_API_H

#define LOCKCORE_API __attribute__((visibility("default")))

#endif
