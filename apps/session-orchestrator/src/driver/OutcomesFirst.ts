/**
 * Holds calls back until the outcomes that arrived before them are on disk, or could not be written.
 *
 * An outcome that is not on disk when the process dies is lost, and its call is made again (rule X1). In a crowd that wakes, calls would
 * begin faster than outcomes are written, so many outcomes would be lost.
 *
 * OutcomesFirst.O1. A call waits for the outcomes that arrived before it, and not for later ones: outcomes that arrive without end do
 *     not hold it for longer than one commit. After a commit that failed calls begin: their turns go on by fibers, which write until the
 *     disk works, and a disk that fails holds up no call.
 */
import { MutableList } from "effect"

/** The outcomes that are not on disk, and the calls that wait for them. */
export class OutcomesFirst {
  /** In the order of their arrival. */
  private readonly unwritten = new Set<number>()
  private readonly waiting = MutableList.make<{ readonly last: number; readonly act: () => void }>()
  private last = 0

  /** Whether a call may begin now. */
  get areWritten(): boolean {
    return this.unwritten.size === 0
  }

  /** An outcome has arrived. The returned function is to be called when it is on disk, or is given up. */
  arrived(): () => void {
    const number = ++this.last
    this.unwritten.add(number)
    return () => {
      this.unwritten.delete(number)
      this.release()
    }
  }

  /** Calls `act` when the outcomes that have arrived until now are on disk: at once, or then. */
  whenWritten(act: () => void): void {
    MutableList.append(this.waiting, { last: this.last, act })
    this.release()
  }

  private release(): void {
    if (this.waiting.length === 0) return
    const [oldest = Infinity] = this.unwritten
    for (;;) {
      const [next] = MutableList.toArrayN(this.waiting, 1)
      if (next === undefined || next.last >= oldest) return
      MutableList.take(this.waiting)
      next.act()
    }
  }
}
