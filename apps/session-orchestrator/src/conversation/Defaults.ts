/** Settings of conversations that set none themselves. */
import type { Models, Profile } from "@holdfast/policy"
import type { Target } from "@holdfast/wire"
import { Context } from "effect"

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
    /** Receivers of every turn's end, in the words of `delivery/`. */
    readonly receivers?: ReadonlyArray<string> | undefined
  }
>()("@holdfast/session-orchestrator/conversation/Defaults") {}
