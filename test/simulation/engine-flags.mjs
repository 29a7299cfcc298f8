/**
 * What processes of the simulation are started with; logs stay the same. Most of what a schedule makes dies with it:
 * collected rarely, it costs a fourteenth less processor time. Its work is spread over so much code that most of it waits
 * long to be compiled at all: compiled plainly at its first call, it costs about a tenth less again.
 */
export const engineFlags = [
  '--max-semi-space-size=64',
  '--min-semi-space-size=16',
  '--always-sparkplug',
];
