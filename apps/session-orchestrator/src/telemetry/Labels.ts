/**
 * Values of metric labels, few whatever clients and models make up.
 *
 * B1. A name of the configuration is always itself. Of others the first `MOST` are; what comes later is counted as `other`.
 * B2. A name longer than `LONGEST` is `other`: a model of the simulated provider is a whole script.
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

  constructor(configured: Iterable<string>, most: number = MOST) {
    this.known = new Set(configured)
    this.left = most
  }

  /** The name, or `other`. */
  of(name: string): string {
    if (this.known.has(name)) return name
    if (this.left <= 0 || name.length > LONGEST) return OTHER
    this.left--
    this.known.add(name)
    return name
  }
}
