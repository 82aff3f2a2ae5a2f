/** One alarm that can be set again; the last time set counts. */

/** Calls `act` at `endMs` (epoch milliseconds), never synchronously; returns a function that cancels the call. */
export type At = (endMs: number, act: () => void) => () => void

/** Calls a function at the time set last. */
export class Alarm {
  private readonly at: At
  private readonly ring: () => void
  private pending: { readonly at: number; readonly cancel: () => void } | undefined = undefined

  /** `ring` is called once for each time that is set and reached. */
  constructor(at: At, ring: () => void) {
    this.at = at
    this.ring = ring
  }

  /** Sets the time in epoch milliseconds; `Infinity` switches the alarm off. */
  set(at: number): void {
    if (this.pending?.at === at) return
    this.pending?.cancel()
    this.pending = undefined
    if (at === Infinity) return
    const act = () => {
      this.pending = undefined
      this.ring()
    }
    this.pending = { at, cancel: this.at(at, act) }
  }
}
