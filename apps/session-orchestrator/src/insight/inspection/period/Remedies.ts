/**
 * Names what helps against a cause of failures: a command, and what to do before it. Pure.
 *
 * A command runs as it is printed, in a shell: what it quotes has no character that a shell would read. Turns that would fail in the
 * same way again are not retried by the command, nor calls of other programs, which alone can ask again.
 */
import { defined, Failure, HeldCall, type PeriodReport, Target } from "@holdfast/wire"
import type { Values } from "../../../config/Config.ts"
import * as ProviderTable from "../../../config/ProviderTable.ts"

/** A cause, as far as its remedy depends on it. */
interface CauseOfFailure extends Pick<PeriodReport.Cause, "reason" | "target"> {
  /** The provider's code. */
  readonly code?: string | undefined
  /** A turn that failed of it, and its conversation. */
  readonly conversationId: string
  readonly turnId: string
  /** A newer prompt of its conversation came after each of its turns: a retry is refused. */
  readonly isPassed?: boolean
}

/** The variables of the keys of configured providers. */
export const keyVariablesOf =
  (providers: Values["providers"]) =>
  (name: string): ReadonlyArray<string> =>
    ProviderTable.reached(providers, name)?.apiKeyEnv ?? []

/** The command that retries failed turns of a target. */
export const retryCommand = (target: string, since: number): string =>
  `holdfast retry --since ${new Date(since).toISOString().replace(/\.\d+/, "")} --model ${quoted(target)}`

/**
 * The remedy of a cause.
 *
 * @param keyVariables the variables of a provider's keys
 */
export const of = (
  { code, conversationId, isPassed, reason, target, turnId }: CauseOfFailure,
  since: number,
  keyVariables: (provider: string) => ReadonlyArray<string>
): PeriodReport.Remedy => {
  const [then] = REMEDIES[reason]
  const advice = adviceOf({ code, reason, target }, keyVariables)
  const account = `holdfast explain ${quoted(turnId)}`
  if (then === "explain") return { ...defined({ advice }), command: account }
  const isHeld = HeldCall.isHeld(conversationId)
  if (!isHeld && isPassed !== true) return { ...defined({ advice }), command: retryCommand(target, since) }
  const before = sentenceOf({ code, reason, target }, keyVariables) ?? ""
  const how = isHeld
    ? "Only its program can ask again. The call's account:"
    : "A newer prompt has come since, so a retry is refused: send the prompt again. The turn's account:"
  return { advice: `${before} ${how}`.trimStart(), command: account }
}

/** The same for the person who asked one turn: what helps, in a sentence. `undefined`: nothing is known to help. */
export const sentenceOf = (
  cause: Pick<CauseOfFailure, "code" | "reason" | "target">,
  keyVariables: (provider: string) => ReadonlyArray<string>
): string | undefined =>
  adviceOf(cause, keyVariables)
    ?.replace(/(?:, then| The turn's account):$/, "")
    .replace(/\.?$/, ".")

// --- internal

const adviceOf: typeof sentenceOf = ({ code, reason, target }, keyVariables) => {
  const advice = code === Failure.SPEND_LIMIT && reason === "quota-exhausted" ? OF_SPEND : REMEDIES[reason][1]
  const variables = keyVariables(Target.parse(target)?.provider ?? "").join(" or ")
  return advice?.replace("KEY", () => variables || "the configuration")
}

/** The command of each reason, and what to do before it. */
const REMEDIES: { readonly [R in Failure.Reason]: readonly [then: "retry" | "explain", advice?: string] } = {
  "rate-limited": ["retry"],
  overloaded: ["retry"],
  "server-error": ["retry"],
  network: ["retry"],
  timeout: ["retry"],
  "invalid-response": ["retry"],
  unknown: ["retry"],
  aborted: ["retry", "A proxy or the provider broke the call off."],
  "quota-exhausted": ["retry", "Add credit at the provider, or wait for the quota's reset, then:"],
  auth: ["retry", "Put a valid key into KEY and restart the service, then:"],
  "model-unavailable": ["explain", "The provider is not configured, or does not offer this model. The turn's account:"],
  "context-overflow": [
    "explain",
    "The prompt is too long for this model; a retry would fail again. The turn's account:"
  ],
  refused: ["explain", "The model refused to answer; a retry would probably fail again. The turn's account:"],
  "bad-request": ["explain", "The provider rejects the request; a retry would fail again. The turn's account:"]
}

const OF_SPEND =
  "Raise the limit in the configuration (spend), or wait for the next day if the limit is one of a day, then:"

/** Names of models and turns come from configurations and clients. */
const quoted = (text: string): string => (/^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
