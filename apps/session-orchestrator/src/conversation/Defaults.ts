/** What a conversation has that did not ask for something else. */
import type { Profile } from "@holdfast/policy"
import type { Target } from "@holdfast/wire"
import { Context } from "effect"

export class Defaults extends Context.Service<
  Defaults,
  {
    readonly model: Target.Target
    readonly retry: Profile.RetrySettings
  }
>()("@holdfast/session-orchestrator/conversation/Defaults") {}
