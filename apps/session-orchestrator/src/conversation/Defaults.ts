/** What a conversation has that did not ask for something else. */
import type { Models, Profile } from "@holdfast/policy"
import type { Target } from "@holdfast/wire"
import { Context } from "effect"

export class Defaults extends Context.Service<
  Defaults,
  {
    readonly model: Target.Target
    readonly retry: Profile.RetrySettings
    /** What models can take, where somebody has said so. */
    readonly models: Models.Models
  }
>()("@holdfast/session-orchestrator/conversation/Defaults") {}
