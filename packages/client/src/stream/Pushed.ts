/** Values that are pushed, kept for one reader until it takes them. */
export class Pushed<A> {
  private readonly most: number
  private readonly tooSlow: () => Error
  private values: Array<A> = []
  private failure: { readonly error: unknown } | undefined
  private wake: (() => void) | undefined

  /** A reader that is more than `most` values behind loses them, and fails with `tooSlow`. */
  constructor(most: number, tooSlow: () => Error) {
    this.most = most
    this.tooSlow = tooSlow
  }

  push(value: A): void {
    if (this.failure !== undefined) return
    this.values.push(value)
    if (this.values.length > this.most) {
      this.values = []
      this.fail(this.tooSlow())
    }
    this.wake?.()
  }

  /** What has come is read first. */
  fail(error: unknown): void {
    this.failure ??= { error }
    this.wake?.()
  }

  /** The values since the last call; waits for the first. Rejects with what ended them. */
  async next(): Promise<ReadonlyArray<A>> {
    while (this.values.length === 0) {
      if (this.failure !== undefined) throw this.failure.error
      await new Promise<void>((resolve) => (this.wake = resolve))
      this.wake = undefined
    }
    const { values } = this
    this.values = []
    return values
  }
}
