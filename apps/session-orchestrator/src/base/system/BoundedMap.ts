/** A map of at most `most` entries: one too many removes the entry that was set longest ago. */
export class BoundedMap<Value> extends Map<string, Value> {
  private readonly most: number

  constructor(most: number) {
    super()
    this.most = most
  }

  /** Sets an entry, which is the newest from now on. */
  override set(key: string, value: Value): this {
    this.delete(key)
    super.set(key, value)
    const [first] = this.keys()
    if (this.size > this.most && first !== undefined) this.delete(first)
    return this
  }
}
