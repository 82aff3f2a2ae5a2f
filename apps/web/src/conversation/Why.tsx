/** Why the newest turn of a conversation waited, retried or gave up: asked for by a button, or in the palette. */
import type { ConversationView } from "@holdfast/client"
import { useState } from "react"
import { Explanation } from "../explain/Explanation.tsx"
import * as Actions from "../palette/Actions.ts"

interface WhyProps {
  readonly conversationId: string
  readonly turn: ConversationView.LatestTurn
}

/** The button, and in its place the explanation. */
export const Why = ({ conversationId, turn: { status, turnId } }: WhyProps) => {
  const [shown, setShown] = useState<string>()
  Actions.useActions("This conversation", [
    { name: "Why?", words: "explain attempts waits decisions", run: () => setShown(turnId) }
  ])
  return shown === turnId ? (
    <Explanation isHere turn={{ conversationId, turnId, status }} onClose={() => setShown(undefined)} />
  ) : (
    <p>
      <button type="button" className="small" onClick={() => setShown(turnId)}>
        Why?
      </button>
    </p>
  )
}
