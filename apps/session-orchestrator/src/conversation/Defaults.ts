/** Settings of conversations that set none themselves. */
import type { Models, Prices, Profile } from "@holdfast/policy"
import type * as SpendLimits from "../spend/limits/SpendLimits.ts"
import type * as SpendSums from "../spend/limits/SpendSums.ts"
import type { TurnRow } from "../storage/Lists.ts"
import type { Records } from "@holdfast/kernel"
import type { Target } from "@holdfast/wire"
import { Context } from "effect"

/** The limits of spending, and the prices that they are checked by. */
export interface SpendSettings {
  readonly limits: ReadonlyArray<SpendLimits.SpendLimit>
  readonly prices: Prices.Prices
  /** Several runners share the database. */
  readonly isShared: boolean
  readonly reading: SpendReading
}

/** What a turn has used until now. */
export interface TurnUse {
  readonly uses: ReadonlyArray<SpendSums.Use>
  /** It has asked about a limit of spending. */
  readonly wasAsked: boolean
}

/** Reads what a turn has used, from its row and its records. */
export interface SpendReading {
  readonly needsRecords: (row: TurnRow) => boolean
  readonly of: (row: TurnRow, records: ReadonlyArray<Records.Stored>) => TurnUse
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
    /** Limits of spending; absent: there are none. */
    readonly spend?: SpendSettings | undefined
    /** Receivers of every turn's end, in the words of `delivery/`. */
    readonly receivers?: ReadonlyArray<string> | undefined
  }
>()("@holdfast/session-orchestrator/conversation/Defaults") {}
