/** One alarm that is set again and again: the last time that was set counts. */

/** Calls back at a time in epoch milliseconds, never on the spot; returns what takes it out. */
export type At = (endMs: number, act: () => void) => () => void

export class Alarm {
  private readonly at: At
  private readonly ring: () => void
  private pending: { readonly at: number; readonly cancel: () => void } | undefined = undefined

  /** `ring` is called once for each time that is set and reached. */
  constructor(at: At, ring: () => void) {
    this.at = at
    this.ring = ring
  }

  /** Sets it to a time, or to none with `Infinity`. */
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
