/** Those who wait, in their order. Taking the head off an array costs its length; here it costs next to nothing. */
export class Line<A> {
  private readonly members: Array<A | undefined> = []
  /** How many have been taken: what stands before it in the array is taken away now and then. */
  private taken = 0

  /** How many wait. */
  get size(): number {
    return this.members.length - this.taken
  }

  /** Who is next; stays. */
  get first(): A | undefined {
    return this.members[this.taken]
  }

  add(member: A): void {
    this.members.push(member)
  }

  /** Takes the first. */
  take(): A | undefined {
    if (this.size === 0) return undefined
    const { first } = this
    this.members[this.taken++] = undefined
    if (this.size === 0 || this.taken > SPENT) {
      this.members.splice(0, this.taken)
      this.taken = 0
    }
    return first
  }

  clear(): void {
    this.members.length = 0
    this.taken = 0
  }
}

// --- internal

/** So many are taken away at once. */
const SPENT = 1_024
