/**
 * Makes a conversation from a client's options.
 *
 * Everything that would fail each turn of the conversation is refused here: an unknown target, invalid settings, an invalid report schema.
 */
import { RetrySettings } from "@holdfast/policy"
import { defined, Target } from "@holdfast/wire"
import { Clock, Effect, Result } from "effect"
import * as ConfigProblem from "../../config/reading/ConfigProblem.ts"
import { type CreateOptions, InvalidRequest } from "../conversation/Conversations.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import { knownTarget, type Providers } from "../conversation/Providers.ts"
import * as FinalReports from "../../config/report/FinalReports.ts"
import * as NewId from "../../storage/NewId.ts"
import type { Conversation } from "../../storage/Stored.ts"

/** Most characters of settings: room for a report's schema of hundreds of fields. Reading longer ones would delay other requests. */
const MOST_SETTINGS = 65_536

/** What the configuration has for conversations. */
interface Surroundings {
  readonly defaults: Defaults["Service"]
  readonly providers: Providers["Service"]
  /** The names of the tool servers. */
  readonly toolServers: ReadonlyArray<string>
}

/** A new conversation with an id of its own; it is not stored yet. Fails with `InvalidRequest` that names the faulty setting. */
export const make = Effect.fnUntraced(function* (
  { conversationId, labels, model, retry, system, title, tools }: CreateOptions,
  { defaults, providers, toolServers }: Surroundings
): Effect.fn.Return<Conversation, InvalidRequest> {
  const name = model ?? (defaults.model && Target.format(defaults.model))
  if (name === undefined) {
    return yield* refuse(
      `model: missing, and the service has no default. Expected "provider/model" with a provider of the configuration ` +
        `(${providers.names.join(", ")}); or set \`model\` in the configuration, or HOLDFAST_MODEL.`
    )
  }
  yield* knownTarget(name, providers)
  const length = JSON.stringify(retry ?? {}).length
  if (length > MOST_SETTINGS)
    return yield* refuse(`retry: it has ${length} characters as JSON; expected ${MOST_SETTINGS} at most.`)
  const settings = RetrySettings.decode(retry ?? {})
  if (Result.isFailure(settings)) {
    const { issue } = settings.failure
    return yield* refuse(ConfigProblem.firstOf(issue, retry, (path) => ConfigProblem.formatPath(["retry", ...path])))
  }
  for (const { name, path } of RetrySettings.targetNames(settings.success)) {
    yield* knownTarget(name, providers, ConfigProblem.formatPath(["retry", ...path]))
  }
  const problem = FinalReports.problemOf(settings.success)
  if (problem !== undefined) return yield* refuse(`retry.finalReport.schema: ${problem}`)
  const unknown = tools?.findIndex((server) => !toolServers.includes(server)) ?? -1
  if (unknown >= 0) {
    return yield* refuse(
      `tools[${unknown}]: there is no tool server ${JSON.stringify(tools?.[unknown])}; ${known("tools", toolServers)}.`
    )
  }
  const prompt = systemPromptOf(system, defaults)
  if (Result.isFailure(prompt)) return yield* refuse(prompt.failure)
  return {
    conversationId: conversationId ?? NewId.conversation(),
    model: name,
    system: prompt.success,
    retry,
    autoRetryEnabled: settings.success.enabled ?? defaults.retry.enabled ?? true,
    createdAt: yield* Clock.currentTimeMillis,
    ...defined({ labels, title, tools })
  }
})

/** The text of a system prompt, which a client may give by its name in the configuration; or why there is none. */
export const systemPromptOf = (
  system: CreateOptions["system"],
  { systemPrompts = {} }: Pick<Defaults["Service"], "systemPrompts">
): Result.Result<string | undefined, string> => {
  if (typeof system !== "object") return Result.succeed(system)
  const text = Object.hasOwn(systemPrompts, system.name) ? systemPrompts[system.name] : undefined
  return text === undefined
    ? Result.fail(
        `system.name: there is no system prompt ${JSON.stringify(system.name)}; ${known("systemPrompts", Object.keys(systemPrompts))}.`
      )
    : Result.succeed(text)
}

// --- internal

const refuse = (message: string) => Effect.fail(new InvalidRequest({ message }))

const known = (key: string, names: ReadonlyArray<string>): string =>
  names.length === 0 ? `the configuration has no \`${key}\`` : `the configuration has ${names.join(", ")}`
