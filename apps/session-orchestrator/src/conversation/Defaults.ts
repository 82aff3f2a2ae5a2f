/** Settings of conversations that set none themselves. */
import type { Models, Prices, Profile, SpendLimits } from "@holdfast/policy"
import type { Target } from "@holdfast/wire"
import { Context } from "effect"

/** The limits of spending, and the prices that they are checked by. */
export interface SpendSettings {
  readonly limits: ReadonlyArray<SpendLimits.SpendLimit>
  readonly prices: Prices.Prices
  /** Several runners share the database. */
  readonly isShared: boolean
}

/** The configured model and retry settings. */
export class Defaults extends Context.Service<
  Defaults,
  {
    readonly model: Target.Target
    readonly retry: Profile.RetrySettings
    /** What models can take, as far as the configuration sets it. */
    readonly models: Models.Models
    /** System prompts that conversations may name. */
    readonly systemPrompts?: Readonly<Record<string, string>> | undefined
    /** Limits of spending; absent: there are none. */
    readonly spend?: SpendSettings | undefined
    /** Receivers of every turn's end, in the words of `delivery/`. */
    readonly receivers?: ReadonlyArray<string> | undefined
  }
>()("@holdfast/session-orchestrator/conversation/Defaults") {}
