/** Counts of things for people. Pure. */

/** `1 turn`, `2 turns`. `many` is the word for several, where it is not the first with an s. */
export const of = (count: number, one: string, many: string = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`
