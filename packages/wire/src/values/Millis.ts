/**
 * Writes milliseconds in units: `8 h`, `1 m 30 s`, `250 ms`.
 *
 * Effect's `Duration.format` brings a kilobyte of arithmetic with large integers into a bundle.
 */

/** The duration in units, to the millisecond; `0`: none. A negative one, of a clock that was set back, is `0` too. */
export const format = (ms: number): string => {
  let left = Math.max(0, Math.round(ms))
  const words = UNITS.flatMap(([unit, size]) => {
    const count = Math.floor(left / size)
    left %= size
    return count === 0 ? [] : [`${count} ${unit}`]
  })
  return words.join(" ") || "0"
}

// --- internal

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1]
] as const
