/** The retry policy of a program, as it stands in `retry` of a configuration (docs/configuration.md). */
import type { Json } from "./Events.ts"

/** Each key replaces that part of the profile. Lengths of time are text such as `"30 seconds"`, `"15 minutes"` or `"7 hours"`. */
export interface RetryOptions {
  /** Default: `overnight`, which waits for hours. */
  readonly profile?: "overnight" | "interactive" | "cycling"
  /** `false`: no retries until `autoRetry` is set. */
  readonly enabled?: boolean
  readonly schedule?: Json
  readonly reasons?: Json
  readonly jitter?: "none" | { readonly factor: number }
  readonly maxRetries?: number
  readonly counts?: "retries" | "attempts"
  readonly budget?: Json
  readonly measure?: "scheduled" | "wall-clock"
  readonly maxDelay?: string | number
  /** `false`: what endpoints ask for is not heeded. */
  readonly hints?: boolean
  /** What follows when an answer breaks off. Default: `fail`. */
  readonly midStream?: "fail" | "discard" | "unseen"
  readonly spendGuard?: Json
  readonly requestTimeout?: { readonly firstContent?: string | number; readonly idle?: string | number }
  readonly maxResponseCharacters?: number
  readonly routing?: Json
  /** The most responses of a turn. */
  readonly maxTurns?: number
  readonly maxFailedToolSteps?: number
}
