/** Which rows of a long list are drawn: those in sight, and a few around them. Pure. */

/** The height of each row in pixels; the style has the same. */
export const ROW_PX = 46

/** Rows beyond both edges, so that a quick scroll shows no gaps. */
const AROUND = 8

/** The rows from `first` up to `end`, which is not among them. */
export interface Drawn {
  readonly first: number
  readonly end: number
}

/** The drawn rows of a list of `count`, scrolled to `top` in a window of `height` pixels. */
export const drawn = (count: number, top: number, height: number): Drawn => {
  const first = Math.max(0, Math.min(count, Math.floor(top / ROW_PX) - AROUND))
  return { first, end: Math.min(count, Math.ceil((top + height) / ROW_PX) + AROUND) }
}
