/** Why a turn did what it did: every attempt, decision, command and tool, in the words of its record (X9). */
import type { TurnExplanation, TurnState } from "@holdfast/wire"
import { useQuery } from "@tanstack/react-query"
import { useEffect, useLayoutEffect, useRef } from "react"
import * as Problems from "../service/Problems.ts"
import * as Service from "../service/Service.ts"
import * as PageRoute from "../shell/PageRoute.ts"
import * as Moments from "../text/Moments.ts"
import "./explanation.css"

interface ExplanationProps {
  readonly turn: Pick<TurnState.TurnState, "status"> & { readonly turnId: string; readonly conversationId: string }
  /** It is shown in its conversation. */
  readonly isHere?: boolean
  /** The attempt that a person asked about; absent: the turn as a whole. */
  readonly at?: Place | undefined
  readonly onClose: () => void
}

/** The place of an attempt in its turn. */
interface Place {
  readonly step: number
  readonly attempt: number
}

/** The explanation of a turn, which takes the focus when it opens. */
export const Explanation = ({ at, isHere = false, onClose, turn }: ExplanationProps) => {
  const part = useRef<HTMLElement>(null)
  const head = useRef<HTMLHeadingElement>(null)
  const { data, error } = useQuery({
    queryKey: ["explain", turn.turnId, turn.status],
    queryFn: ({ signal }) => Service.client.turn(turn.turnId).explain({ signal })
  })
  useLayoutEffect(() => {
    const opener = document.activeElement
    const own = part.current
    head.current?.focus()
    return () => {
      // Still in the document: the focus goes back to the row that opened it.
      if (opener instanceof HTMLElement && own?.contains(document.activeElement) === true) opener.focus()
    }
  }, [])
  return (
    <section
      ref={part}
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
        {!isHere && (
          <a href={PageRoute.format({ page: "conversation", conversationId: turn.conversationId })}>Conversation</a>
        )}
        <button type="button" className="small" onClick={onClose}>
          Close
        </button>
      </div>
      <p className="quiet">
        Turn <code>{turn.turnId}</code>
      </p>
      {error !== null && <p role="alert">{Problems.wordsOf(error)}</p>}
      {data !== undefined && <Records explanation={data} at={at} />}
    </section>
  )
}

// --- internal

const local = (words: string): string => Moments.local(words, Date.now())

interface RecordsProps {
  readonly explanation: TurnExplanation.TurnExplanation
  readonly at: Place | undefined
}

const Records = ({ at, explanation: { interruption, isForgotten, seal, steps } }: RecordsProps) => (
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
            <AttemptRecord
              key={attempt.attempt}
              attempt={attempt}
              asked={at?.step === step && at.attempt === attempt.attempt ? at : undefined}
            />
          ))}
          {tools.map(({ tool, words }) => (
            <li key={tool}>{local(words)}</li>
          ))}
        </ol>
      </div>
    ))}
    {interruption !== undefined && <p>{local(interruption.words)}</p>}
    {seal !== undefined && <p className="seal">{local(seal.words)}</p>}
  </>
)

interface AttemptRecordProps {
  readonly attempt: TurnExplanation.ExplainedAttempt
  /** Set where a person asked about this attempt; another value: asked again. */
  readonly asked: Place | undefined
}

const AttemptRecord = ({ asked, attempt: { body, decision, wait, words } }: AttemptRecordProps) => {
  const item = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (asked !== undefined) item.current?.focus()
  }, [asked])
  const waited =
    wait === undefined
      ? []
      : [
          ...[...wait.changes, ...(wait.deaths ?? [])].toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0)),
          ...(wait.asked === undefined ? [] : [wait.asked]),
          ...(wait.end === undefined ? [] : [wait.end])
        ]
  return (
    <li ref={item} tabIndex={-1} className={asked === undefined ? undefined : "asked"}>
      <span className="verbatim">{local(words)}</span>
      {body !== undefined && (
        <details className="tool">
          <summary>Response of the endpoint</summary>
          <p className="verbatim">{body}</p>
        </details>
      )}
      {decision !== undefined && <p>{local(decision.words)}</p>}
      {waited.map(({ words }) => (
        <p key={words}>{local(words)}</p>
      ))}
    </li>
  )
}
