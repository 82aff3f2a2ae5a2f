/** The prompts that are queued behind the turn of a conversation: each can be cancelled, or put back into the composer. */
import { Count, type Prompt } from "@holdfast/wire"
import { useQuery } from "@tanstack/react-query"
import * as Service from "../service/Service.ts"
import { CommandFailure, useCommand } from "./CommandFailure.tsx"

/** Between two reads of the prompts, while they fail. */
const AGAIN_MS = 2_000

interface QueuedProps {
  readonly conversationId: string
  /** The ids of the turns, in order. */
  readonly turnIds: ReadonlyArray<string>
  /** Takes a prompt that is queued no longer. */
  readonly onEdit: (prompt: Prompt.Prompt) => void
}

/** The queue, by the beginnings of its prompts; nothing where it is empty. */
export const Queued = ({ conversationId, onEdit, turnIds }: QueuedProps) => {
  const { failure, isPending, send } = useCommand(conversationId)
  const { data } = useQuery({
    queryKey: ["queued", conversationId, ...turnIds],
    enabled: turnIds.length > 0,
    queryFn: ({ signal }) =>
      Service.first(Service.client.listTurns({ signal, status: "queued" }), Service.MOST_OF_CALL),
    // A read that failed is not the last: without its prompt a turn cannot be put back.
    refetchInterval: ({ state }) => (state.status === "error" ? AGAIN_MS : false)
  })
  if (turnIds.length === 0) return <CommandFailure failure={failure} />
  const cancel = (turnId: string) => send(() => Service.client.turn(turnId).abort())
  const edit = (turnId: string) =>
    send(async () => {
      const turn = Service.client.turn(turnId)
      const { prompt } = await turn.getState()
      // It has begun meanwhile: its prompt is in the history, and not ours to take back.
      if (prompt === undefined) return
      await turn.abort()
      onEdit(prompt)
    })
  return (
    <section className="queued" aria-label="Queued prompts" tabIndex={-1}>
      <p className="quiet">{Count.of(turnIds.length, "prompt")} queued behind this turn</p>
      <ol>
        {turnIds.map((turnId) => {
          const prompt = data?.find((turn) => turn.turnId === turnId)?.prompt
          return (
            <li key={turnId}>
              <span>{prompt ?? "…"}</span>
              {prompt !== undefined && (
                <button
                  type="button"
                  aria-disabled={isPending}
                  aria-label={`Edit “${prompt}”`}
                  onClick={() => edit(turnId)}
                >
                  Edit
                </button>
              )}
              <button
                type="button"
                aria-disabled={isPending}
                aria-label={`Cancel “${prompt ?? "…"}”`}
                onClick={() => cancel(turnId)}
              >
                Cancel
              </button>
            </li>
          )
        })}
      </ol>
      <CommandFailure failure={failure} />
    </section>
  )
}
