/** Ends the turn that runs, and runs the model again after an error or an abort (M2). */
import { Count } from "@holdfast/wire"
import * as Actions from "../palette/Actions.ts"
import * as Service from "../service/Service.ts"
import { CommandFailure, useCommand } from "./CommandFailure.tsx"

/** A turn that runs, and what is behind it. */
export interface Stoppable {
  readonly turnId: string
  /** The beginning of the prompt that it answers. */
  readonly prompt: string | undefined
  /** Prompts queued behind it. */
  readonly queued: number
}

interface TurnButtonsProps {
  readonly conversationId: string
  /** The turn to stop; absent: none runs. */
  readonly running?: Stoppable | undefined
  readonly canRetry: boolean
}

/** The buttons of a running turn, and of a turn that has failed or was aborted. */
export const TurnButtons = ({ canRetry, conversationId, running }: TurnButtonsProps) => {
  const { failure, isPending, send } = useCommand(conversationId)
  const stop = running && {
    name: nameOf(running),
    words: "abort end the turn",
    run: (): void => {
      // The turn that was named, also where another has begun meanwhile.
      if (isMeant(running)) send(() => Service.client.turn(running.turnId).abort())
    }
  }
  const retry = canRetry && {
    name: "Retry",
    words: "run the model again",
    run: () => send((conversation) => conversation.retry())
  }
  Actions.useActions("This conversation", [...(stop ? [stop] : []), ...(retry ? [retry] : [])])
  if (!stop && !retry && failure === undefined) return null
  return (
    <div className="turn-buttons">
      {stop && (
        <button type="button" aria-disabled={isPending} onClick={stop.run}>
          {stop.name}
        </button>
      )}
      {retry && (
        <button type="button" className="primary" aria-disabled={isPending} onClick={retry.run}>
          {retry.name}
        </button>
      )}
      <CommandFailure failure={failure} />
    </div>
  )
}

/** What is asked before a turn with others behind it is stopped. */
export const questionOf = ({ prompt, queued }: Stoppable): string =>
  `Stop the ${prompt === undefined ? "turn that runs now" : `answer to “${prompt}”`}? The ${Count.of(queued, "prompt")} queued behind it ${
    queued === 1 ? "stays, and runs" : "stay, and the first of them runs"
  } next.`

// --- internal

/** With an ellipsis it asks first, like all that do. */
const nameOf = ({ queued }: Stoppable): string => (queued === 0 ? "Stop this turn" : "Stop this turn …")

const isMeant = (running: Stoppable): boolean => running.queued === 0 || confirm(questionOf(running))
