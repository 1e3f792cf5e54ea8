/* manual.h: the pages of the manual that have a file of their own. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

void manual_scenario(void);
void manual_history(void);

#endif
