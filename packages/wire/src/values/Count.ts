/** Writes counts of things for people. Pure. */

/** A number with separators of thousands: `1,000`. */
export const format = (n: number): string => n.toLocaleString("en-US")

/** A number of things: `1 turn`, `1,000 turns`. `many` is the word for several; absent: `one` with an s. */
export const of = (n: number, one: string, many: string = `${one}s`): string => `${format(n)} ${n === 1 ? one : many}`

/** A number of bytes: `812 bytes`, `34 kB`, `5.2 MB`. */
export const ofBytes = (bytes: number): string => {
  if (bytes < 1_000) return of(bytes, "byte")
  return bytes < 999_500 ? `${Math.round(bytes / 1_000)} kB` : `${Math.round(bytes / 100_000) / 10} MB`
}
