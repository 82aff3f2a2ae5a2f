/** Settings of conversations that set none themselves. */
import type { Models, Prices, Profile } from "@holdfast/policy"
import type * as SpendLimits from "../../config/limits/SpendLimits.ts"
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
    /** Of a conversation that names none; `undefined`: each has to. */
    readonly model: Target.Target | undefined
    readonly retry: Profile.RetrySettings
    /** What models can take, as far as the configuration sets it. */
    readonly models: Models.Models
    /** System prompts that conversations may name. */
    readonly systemPrompts?: Readonly<Record<string, string>> | undefined
    /** The configured prices; absent: those of well-known models alone. */
    readonly prices?: Prices.Prices | undefined
    /** Limits of spending; absent: there are none. */
    readonly spend?: SpendSettings | undefined
    /** Receivers of every turn's end, in the words of `delivery/`. */
    readonly receivers?: ReadonlyArray<string> | undefined
  }
>()("@holdfast/session-orchestrator/conversation/Defaults") {}
