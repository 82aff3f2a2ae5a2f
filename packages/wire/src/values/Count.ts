/** Writes counts of things for people. Pure. */

/** A number with separators of thousands: `1,000`. */
export const format = (n: number): string => n.toLocaleString("en-US")

/** A number of things: `1 turn`, `1,000 turns`. `many` is the word for several, where it is not the first with an s. */
export const of = (n: number, one: string, many: string = `${one}s`): string => `${format(n)} ${n === 1 ? one : many}`
