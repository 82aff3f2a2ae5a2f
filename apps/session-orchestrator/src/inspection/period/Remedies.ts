/**
 * Names what helps against a cause of failures: a command, and what to do before it. Pure.
 *
 * A command runs as it is printed, in a shell: what it quotes has no character that a shell would read. Turns that would fail in the
 * same way again are not retried by the command.
 */
import { Failure, type PeriodReport, Target } from "@holdfast/wire"

/** A cause, as far as its remedy depends on it. */
export interface CauseOfFailure {
  readonly reason: Failure.Reason
  /** The provider's code. */
  readonly code?: string | undefined
  /** `provider/model`. */
  readonly target: string
  /** A turn that failed of it. */
  readonly turnId: string
}

/** The command that retries failed turns of a target. */
export const retryCommand = (target: string, since: number): string =>
  `holdfast retry --since ${new Date(since).toISOString().replace(/\.\d+/, "")} --model ${quoted(target)}`

/**
 * The remedy of a cause.
 *
 * @param keyVariables the variables of a provider's keys
 */
export const of = (
  { code, reason, target, turnId }: CauseOfFailure,
  since: number,
  keyVariables: (provider: string) => ReadonlyArray<string>
): PeriodReport.Remedy => {
  const retry = retryCommand(target, since)
  const explain = `holdfast explain ${quoted(turnId)}`
  switch (reason) {
    case "rate-limited":
    case "overloaded":
    case "server-error":
    case "network":
    case "timeout":
    case "invalid-response":
    case "unknown":
      return { command: retry }
    case "aborted":
      return { advice: "A proxy or the provider broke the call off.", command: retry }
    case "quota-exhausted":
      if (code === Failure.SPEND_LIMIT)
        return {
          advice:
            "Raise the limit in the configuration (spend), or wait for the next day if the limit is one of a day, then:",
          command: retry
        }
      return { advice: "Add credit at the provider, or wait for the quota's reset, then:", command: retry }
    case "auth": {
      const variables = keyVariables(Target.parse(target)?.provider ?? "")
      const where = variables.length === 0 ? "the configuration" : variables.join(" or ")
      return { advice: `Put a valid key into ${where}, restart the service, then:`, command: retry }
    }
    case "model-unavailable":
      return { advice: "The provider does not offer this model to this key. The turn's account:", command: explain }
    case "context-overflow":
      return {
        advice: "The prompt is too long for this model; a retry would fail again. The turn's account:",
        command: explain
      }
    case "refused":
      return {
        advice: "The model refused to answer; a retry would probably fail again. The turn's account:",
        command: explain
      }
    case "bad-request":
      return {
        advice: "The provider rejects the request; a retry would fail again. The turn's account:",
        command: explain
      }
    default:
      return reason satisfies never
  }
}

// --- internal

/** Names of models and turns come from configurations and clients. */
const quoted = (text: string): string => (/^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
