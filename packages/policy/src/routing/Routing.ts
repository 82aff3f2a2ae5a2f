/** The routing of a policy, as plain values. `FallbackChain.ts` and `RoundRobin.ts` implement it. */
import type { Target } from "@holdfast/wire"

/** Stays on the primary while it works; when it fails, goes along its chain (P7 to P9). */
export interface FallbackChain {
  readonly type: "fallback-chain"
  /**
   * The fallbacks of a primary, best first. A key is a primary, `provider/model`, or `ANY_PRIMARY`; it is the chain's role in events and
   * routes. An empty list means a primary without a fallback, whatever `ANY_PRIMARY` has.
   */
  readonly chains: { readonly [role: string]: ReadonlyArray<Target.Target> }
  /** When a later step returns to the primary: as soon as its cooldown is over, or never by itself (P9). */
  readonly revert: "cooldown-expiry" | "never"
  /** The shortest cooldown of a target that failed, in milliseconds; a hint can lengthen it (P8). */
  readonly cooldownMs: number
}

/** Takes the targets in turn (A4, A5). */
export interface RoundRobin {
  readonly type: "round-robin"
  /** In order. A primary that is not among them comes first; without any the primary is the only one. */
  readonly targets: ReadonlyArray<Target.Target>
}

/** How attempts get their routes. */
export type Routing = FallbackChain | RoundRobin

/** The key of the chain for every primary without its own chain. */
export const ANY_PRIMARY = "default"

/** Long enough for most overloads to pass (P8). */
const COOLDOWN_MS = 300_000

/** No chain yet; credentials are switched (P7), and every primitive has its default (P3). */
export const noChains: FallbackChain = {
  type: "fallback-chain",
  chains: {},
  revert: "cooldown-expiry",
  cooldownMs: COOLDOWN_MS
}

/** The turn's own target, again and again (A4). */
export const ownTarget: RoundRobin = { type: "round-robin", targets: [] }
