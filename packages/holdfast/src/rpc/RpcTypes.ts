/** The client of `holdfast rpc`, its results and states, as plain types. */
import type { Failure, Prompt, ProviderRetry, Reason, TurnEnd, TurnEvent } from "../Events.ts"

/** How the process is started, and which conversation it runs. */
export interface RpcOptions {
  /** The program and its first arguments; by default the service that is installed beside this package (`@holdfast/server`). */
  readonly command?: readonly [string, ...ReadonlyArray<string>]
  /** A conversation to resume. Without it a new one begins. */
  readonly conversation?: string
  /** With `conversation`: the last event that is known, as `lastEventId`. Without it all events come again. */
  readonly after?: number
  /** `provider/model`. */
  readonly model?: string
  readonly profile?: "overnight" | "interactive" | "cycling"
  /** System prompt of the new conversation. */
  readonly system?: string
  /** The configuration's file. */
  readonly config?: string
  readonly cwd?: string
  /** The process's environment; by default this program's. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Receives the process's log. */
  readonly onLog?: (text: string) => void
}

/** A turn's id of your own: the same id again is the same turn. */
interface TurnId {
  readonly turnId?: string
}

/** A command's id: the same command sent twice takes effect once. */
interface Once {
  readonly commandId?: string
}

/** How a tool call is answered. */
interface Answer extends Once {
  /** `true`: every later call of this tool in the conversation has the same answer, without a question. */
  readonly always?: boolean
}

/** One conversation in a process of its own. */
export interface RpcClient extends AsyncDisposable {
  /** The id of the last persisted event that came: the option `after` of the next process. */
  readonly lastEventId: number
  /** Runs a turn, and returns its end. */
  prompt(prompt: Prompt, options?: TurnId): Promise<RpcResult>
  /** Runs the model again from the last prompt, after an error or an abort. */
  retry(options?: TurnId): Promise<RpcResult>
  /** Ends the retries, then the turn. Returns whether there was a turn. */
  abort(): Promise<boolean>
  /** Switches automatic retries, from the next failure on. */
  setAutoRetry(enabled: boolean): Promise<void>
  /** Changes the model to this `provider/model`, for turns that are accepted from now on. */
  setModel(model: string): Promise<void>
  /** Gives up: ends the wait, and the turn with its last error. Like the calls below it returns whether a turn waited. */
  abortRetry(once?: Once): Promise<boolean>
  /** Ends the wait and makes the next attempt. */
  retryNow(once?: Once): Promise<boolean>
  /** Moves the end of the wait: a date, or epoch milliseconds. */
  waitUntil(until: Date | number, once?: Once): Promise<boolean>
  /** Ends the wait; the rest of the turn runs on this `provider/model`. */
  switchTarget(model: string, once?: Once): Promise<boolean>
  /** Runs a tool call that waits for approval (`asks.calls` of the wait). Returns whether it waited for an answer. */
  approveTool(toolCallId: string, options?: Answer): Promise<boolean>
  /** Refuses such a call; the model gets the reason. */
  refuseTool(toolCallId: string, reason?: string, options?: Answer): Promise<boolean>
  /** Replaces the answers that hold for every call of a tool, by its name; `{}`: each call is asked about again. */
  setToolAnswers(toolAnswers: Readonly<Record<string, "approve" | "refuse">>): Promise<void>
  /** Adds milliseconds to the budget of the step that waits. */
  extendBudget(byMs: number, once?: Once): Promise<boolean>
  /** Reads the conversation's state. */
  getState(): Promise<RpcState>
  /** Calls a function with every event from now on. Returns what ends that. */
  on(listener: (event: TurnEvent) => void): () => void
  /**
   * The events from now on, until the process ends. Each iteration has all of them.
   *
   * **Gotchas**
   *
   * Events that are not read yet are kept in memory. An iteration that is 100,000 events behind fails with the code `too-slow`.
   */
  events(): AsyncIterableIterator<TurnEvent>
  /** Ends the process and returns its exit code; `null` where a signal ended it, or it never started. */
  close(): Promise<number | null>
}

/** The end of a turn. */
export interface RpcResult {
  readonly turnId: string
  readonly status: "completed" | "failed" | "aborted"
  /** The text of the last answer. */
  readonly text: string
  /** Set on `failed`. */
  readonly error?: Failure
  /** The event of the end: attempts, waits, usage, report. */
  readonly end: TurnEnd
}

/** A conversation as it is now. */
export interface RpcState {
  readonly conversationId: string
  readonly status: "idle" | "running" | "retrying"
  /** `provider/model` of the next step. */
  readonly model: string
  readonly autoRetryEnabled: boolean
  readonly isRetrying: boolean
  /** Answers that hold for every call of a tool. */
  readonly toolAnswers?: Readonly<Record<string, "approve" | "refuse">>
  /** The turn that is running. */
  readonly turnId?: string
  /** The turns behind it, in order. */
  readonly queued: ReadonlyArray<string>
  /** 0-based. */
  readonly attempt?: number
  /** When the retry is due, in epoch milliseconds. */
  readonly retryAt?: number
  /** The wait in progress. */
  readonly retry?: {
    readonly attempt: number
    readonly retryAt: number
    readonly delayMs: number
    /** The endpoint's error, verbatim. */
    readonly message: string
    readonly reason: Reason
    readonly code?: string
    readonly maxAttempts?: number
    /** The turn waits for a person's answer. */
    readonly asks?: NonNullable<ProviderRetry["asks"]>
  }
  /** The last persisted event that this client has received: the option `after` continues behind it. */
  readonly lastEventId: number
}
