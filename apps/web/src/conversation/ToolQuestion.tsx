/** A question about tool calls: each call with the beginning of its arguments, and what approves or refuses it. */
import type { Conversation } from "@holdfast/client"
import type { TurnEvent } from "@holdfast/wire"
import { useId } from "react"
import { useCommand } from "./useCommand.ts"

interface ToolQuestionProps {
  readonly conversationId: string
  readonly calls: ReadonlyArray<TurnEvent.AskedCall>
}

/** The calls without an answer. */
export const ToolQuestion = ({ calls, conversationId }: ToolQuestionProps) => {
  const { failure, isPending, send } = useCommand(conversationId)
  return (
    <div className="commands">
      {calls.map((call) => (
        <AskedCall key={call.toolCallId} call={call} isPending={isPending} send={send} />
      ))}
      {failure !== undefined && (
        <p className="error-text" role="alert">
          {failure}
        </p>
      )}
    </div>
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
      className="choices"
      aria-label={`Tool call ${toolName}`}
      onSubmit={(event) => {
        event.preventDefault()
        const reason = new FormData(event.currentTarget).get("reason")
        const given = typeof reason === "string" && reason.trim() !== "" ? { reason: reason.trim() } : {}
        send((conversation) => conversation.refuseTool(toolCallId, given))
      }}
    >
      <code>
        {toolName} {quoted}
      </code>
      <button
        type="button"
        className="primary"
        disabled={isPending}
        onClick={() => send((conversation) => conversation.approveTool(toolCallId))}
      >
        Approve
      </button>
      <label htmlFor={id}>Reason for the model</label>
      <input id={id} name="reason" placeholder="optional" autoComplete="off" />
      <button type="submit" disabled={isPending}>
        Refuse
      </button>
    </form>
  )
}
