/** Why a turn did what it did: every attempt, decision, command and tool, in the words of its record (X9). */
import type { TurnExplanation, TurnState } from "@holdfast/wire"
import { useQuery } from "@tanstack/react-query"
import { useEffect, useRef } from "react"
import * as Problems from "../service/Problems.ts"
import * as Service from "../service/Service.ts"
import * as Route from "../shell/Route.ts"

interface ExplanationProps {
  readonly turn: Pick<TurnState.TurnState, "turnId" | "conversationId" | "status">
  readonly onClose: () => void
}

/** The explanation of a turn, which takes the focus when it opens. */
export const Explanation = ({ onClose, turn }: ExplanationProps) => {
  const head = useRef<HTMLHeadingElement>(null)
  const { data, error } = useQuery({
    queryKey: ["explain", turn.turnId, turn.status],
    queryFn: ({ signal }) => Service.client.turn(turn.turnId).explain({ signal })
  })
  useEffect(() => head.current?.focus(), [])
  return (
    <section
      className="explanation"
      aria-label="Explanation"
      onKeyDown={({ key }) => {
        if (key === "Escape") onClose()
      }}
    >
      <div className="explanation-head">
        <h2 ref={head} tabIndex={-1}>
          Why
        </h2>
        <a href={Route.format({ page: "conversation", conversationId: turn.conversationId })}>Conversation</a>
        <button type="button" className="small" onClick={onClose}>
          Close
        </button>
      </div>
      <p className="quiet">
        Turn <code>{turn.turnId}</code>
      </p>
      {error !== null && <p role="alert">{Problems.wordsOf(error)}</p>}
      {data !== undefined && <Records explanation={data} />}
    </section>
  )
}

// --- internal

const Records = ({
  explanation: { interruption, isForgotten, seal, steps }
}: {
  readonly explanation: TurnExplanation.TurnExplanation
}) => (
  <>
    {isForgotten && <p>Its records have been deleted.</p>}
    {steps.map(({ attempts, final, step, tools }) => (
      <div key={step}>
        <h3>
          Step {step + 1}
          {final !== undefined && `, the last one: ${final}`}
        </h3>
        <ol>
          {attempts.map((attempt) => (
            <AttemptRecord key={attempt.attempt} attempt={attempt} />
          ))}
          {tools.map(({ tool, words }) => (
            <li key={tool}>{words}</li>
          ))}
        </ol>
      </div>
    ))}
    {interruption !== undefined && <p>{interruption.words}</p>}
    {seal !== undefined && <p className="seal">{seal.words}</p>}
  </>
)

const AttemptRecord = ({ attempt: { body, decision, wait, words } }: { readonly attempt: TurnExplanation.Attempt }) => {
  const waited =
    wait === undefined
      ? []
      : [
          ...wait.changes,
          ...(wait.asked === undefined ? [] : [wait.asked]),
          ...(wait.end === undefined ? [] : [wait.end])
        ]
  return (
    <li>
      <span className="verbatim">{words}</span>
      {body !== undefined && (
        <details className="tool">
          <summary>Response of the endpoint</summary>
          <p className="verbatim">{body}</p>
        </details>
      )}
      {decision !== undefined && <p>{decision.words}</p>}
      {waited.map(({ words }) => (
        <p key={words}>{words}</p>
      ))}
    </li>
  )
}
