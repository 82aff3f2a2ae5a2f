/**
 * Values of metric labels, few whatever clients and models make up.
 *
 * B1. A name of the configuration is always itself. Of others the first `MOST` are; what comes later is counted as `other`.
 * B2. A name longer than `LONGEST` is `other`: a model of the simulated provider is a whole script.
 * B3. So is one with a secret in it: somebody has given a key for a model's name.
 */

/** What is past the limit. */
export const OTHER = "other"

/** Some thousand series a metric: what a Prometheus of a laptop does not notice. */
export const MOST = 50
export const LONGEST = 100

/** Names of one kind. */
export class Labels {
  private readonly known: Set<string>
  private left: number
  private readonly redact: (text: string) => string

  constructor(configured: Iterable<string>, redact: (text: string) => string, most: number = MOST) {
    this.known = new Set(configured)
    this.redact = redact
    this.left = most
  }

  /** The name, or `other`. */
  of(name: string): string {
    if (this.known.has(name)) return name
    if (this.left <= 0 || name.length > LONGEST || this.redact(name) !== name) return OTHER
    this.left--
    this.known.add(name)
    return name
  }
}
