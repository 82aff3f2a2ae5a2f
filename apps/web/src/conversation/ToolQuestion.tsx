/** A question about tool calls: each call with the beginning of its arguments, and what approves or refuses it. */
import { type Conversation, ConversationView } from "@holdfast/client"
import type { TurnEvent } from "@holdfast/wire"
import { useId } from "react"
import * as Moments from "../text/Moments.ts"
import * as Actions from "../palette/Actions.ts"
import { useNow } from "../time/Now.ts"
import { CommandFailure, useCommand } from "./CommandFailure.tsx"

interface ToolQuestionProps {
  readonly conversationId: string
  /** Those without an answer. */
  readonly calls: ReadonlyArray<TurnEvent.AskedCall>
  readonly retry: ConversationView.ShownRetry
}

/** The yellow message of a question. */
export const ToolQuestion = ({ calls, conversationId, retry }: ToolQuestionProps) => {
  const id = useId()
  const now = useNow()
  const { failure, isPending, send } = useCommand(conversationId)
  Actions.useActions(
    "The wait",
    calls.flatMap(({ toolCallId, toolName }) => [
      {
        name: `Approve ${toolName}`,
        run: () => send((conversation) => conversation.answerTool({ toolCallId, approve: true }))
      },
      {
        name: `Refuse ${toolName}`,
        run: () => send((conversation) => conversation.answerTool({ toolCallId, approve: false }))
      }
    ])
  )
  const left = Moments.countdown(ConversationView.remainingMs(retry, now))
  return (
    <section className="wait asks" aria-labelledby={id}>
      <h2 id={id}>{calls.length === 1 ? "A tool call needs your approval" : "Tool calls need your approval"}</h2>
      {calls.map((call) => (
        <AskedCall key={call.toolCallId} call={call} isPending={isPending} send={send} />
      ))}
      <p className="countdown" role="timer">
        {`${left} left to answer; refused without an answer at ${Moments.moment(retry.dueAt, now)}`}
      </p>
      {calls.length > 1 && <p className="facts">Approved calls run when each has its answer.</p>}
      <CommandFailure failure={failure} />
    </section>
  )
}

// --- internal

interface AskedCallProps {
  readonly call: TurnEvent.AskedCall
  readonly isPending: boolean
  readonly send: (command: (conversation: Conversation) => Promise<unknown>) => void
}

const AskedCall = ({ call: { quoted, toolCallId, toolName }, isPending, send }: AskedCallProps) => {
  const id = useId()
  return (
    <form
      aria-label={`Tool call ${toolName}`}
      onSubmit={(event) => {
        event.preventDefault()
        const reason = new FormData(event.currentTarget).get("reason")
        const given = typeof reason === "string" && reason.trim() !== "" ? { reason: reason.trim() } : {}
        send((conversation) => conversation.answerTool({ toolCallId, approve: false, ...given }))
      }}
    >
      <p className="verbatim">
        <code>{toolName}</code> {quoted}
      </p>
      <div className="choices">
        <button
          type="button"
          className="primary"
          aria-disabled={isPending}
          onClick={() => send((conversation) => conversation.answerTool({ toolCallId, approve: true }))}
        >
          Approve
        </button>
        <button
          type="button"
          aria-disabled={isPending}
          title={`Every call of ${toolName} in this conversation runs without a question`}
          onClick={() => send((conversation) => conversation.answerTool({ toolCallId, approve: true, always: true }))}
        >
          Always approve
        </button>
        <label htmlFor={id}>Reason for the model</label>
        <input id={id} name="reason" placeholder="optional" autoComplete="off" />
        <button type="submit" aria-disabled={isPending}>
          Refuse
        </button>
        <button
          type="button"
          aria-disabled={isPending}
          title={`Every call of ${toolName} in this conversation is refused without a question`}
          onClick={() => send((conversation) => conversation.answerTool({ toolCallId, approve: false, always: true }))}
        >
          Always refuse
        </button>
      </div>
    </form>
  )
}
