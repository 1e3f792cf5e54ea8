/* version.h: the one place where picklock's version stands. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define PICKLOCK_VERSION "0.1.0"

#endif
