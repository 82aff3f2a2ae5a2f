/** Writes the end of a turn as a message of Standard Webhooks. Pure. */
import type { TurnState } from "@holdfast/wire"

/** The body: its type names how the turn ended, and `data` is the turn as `GET /v1/turns/:turnId` has it. */
export const bodyOf = (state: TurnState.TurnState): string =>
  JSON.stringify({
    type: `turn.${state.status}`,
    timestamp: new Date(state.endedAt ?? state.acceptedAt).toISOString(),
    data: state
  })
