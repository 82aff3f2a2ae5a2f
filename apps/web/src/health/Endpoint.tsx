/** One endpoint: its state as colour, shape and word, its gate, pauses, calls of the last hour, and last failure. */
import type { Health } from "@holdfast/wire"
import { useId } from "react"
import * as Service from "../service/Service.ts"
import * as Moments from "../text/Moments.ts"
import * as ReasonText from "../text/ReasonText.ts"
import { useNow } from "../time/Now.ts"
import * as Endpoints from "./Endpoints.ts"
import { Meter } from "./Meter.tsx"

interface EndpointProps {
  readonly endpoint: Health.EndpointReport
  /** When the report was made, in epoch milliseconds. */
  readonly at: number
  /** Since when calls are counted. */
  readonly since: string
}

/** An endpoint. */
export const Endpoint = ({ at, endpoint, since }: EndpointProps) => {
  const { address, credential, elsewhere, gate, lastAnswerAt, lastFailure, lastHour, pauses, state, target } = endpoint
  return (
    <li className={`endpoint ${state}`}>
      <div className="endpoint-head">
        <span className={`endpoint-state ${state}`}>
          <StateShape state={state} /> {Endpoints.wordsOf(state)}
        </span>
        <h2>{target}</h2>
        {credential !== undefined && <code>{credential}</code>}
        {address !== undefined && <span className="quiet">{address}</span>}
      </div>
      <div className="endpoint-body">
        <div className="endpoint-facts">
          {gate !== undefined && (
            <p>
              <strong>Gate {GATES[gate.phase]}.</strong> {gate.words}
              {gate.nextTryAt !== undefined && <NextTry until={gate.nextTryAt} at={at} />}
            </p>
          )}
          {pauses.map((pause) => (
            <Pause
              key={`${pause.of} ${pause.credential} ${pause.until}`}
              words={Endpoints.pausedOf(pause)}
              because={pause.isAsked ? "the provider named this time" : ReasonText.wordsOf(pause.reason)}
              pause={pause}
              at={at}
            />
          ))}
          {pauses.length === 0 && lastFailure?.askedUntil !== undefined && lastFailure.askedUntil > at && (
            <Pause
              words="The provider asked for no call"
              because={ReasonText.wordsOf(lastFailure.reason)}
              pause={{ since: lastFailure.at, until: lastFailure.askedUntil }}
              at={at}
            />
          )}
          {lastFailure !== undefined && <Failed failure={lastFailure} at={at} words="Last failure" />}
          {elsewhere?.failure !== undefined && <Failed failure={elsewhere.failure} at={at} words="On all runners" />}
        </div>
        <div className="endpoint-calls">
          <CallsPicture counts={lastHour} />
          <p>
            {Endpoints.callsInWords(lastHour)} <span className="quiet">since {since}</span>
          </p>
          {lastAnswerAt !== undefined && <p className="quiet">last answer {Moments.moment(lastAnswerAt, at)}</p>}
        </div>
      </div>
    </li>
  )
}

// --- internal

const GATES = { open: "open", shut: "shut", ramp: "opening" } as const

/** The present moment of the service. */
const useServiceNow = (): number => useNow() + Service.clockSkewMs()

const NextTry = ({ at, until }: { readonly until: number; readonly at: number }) => {
  const left = until - useServiceNow()
  return (
    <>
      {" "}
      The next call is at {Moments.time(until, at)} at the latest
      {left > 0 && <span aria-hidden="true">, in {Moments.countdown(left)}</span>}.
    </>
  )
}

interface PauseProps {
  readonly words: string
  readonly because: string
  readonly pause: Pick<Health.PauseReport, "since" | "until">
  readonly at: number
}

const Pause = ({ at, because, pause, words }: PauseProps) => {
  const now = useServiceNow()
  const passed = Endpoints.passedOf(pause, now)
  return (
    <div>
      <p>
        <strong>{words}</strong> until {Moments.time(pause.until, at)}
        {pause.until > now && <span aria-hidden="true">, for another {Moments.countdown(pause.until - now)}</span>}
        <span className="quiet"> · {because}</span>
      </p>
      {passed !== undefined && (
        <Meter
          share={passed}
          label={words}
          words={`${Math.round(passed * 100)} percent of the pause has passed`}
          kind="passed"
        />
      )}
    </div>
  )
}

const Failed = ({
  at,
  failure: { at: failedAt, code, message, reason },
  words
}: {
  readonly failure: Health.LastFailure
  readonly at: number
  readonly words: string
}) => (
  <div>
    <p>
      {words} {Moments.time(failedAt, at)}: {ReasonText.wordsOf(reason)}
      {code !== undefined && <code className="code-tag">{code}</code>}
    </p>
    <p className="quiet verbatim endpoint-message">{message}</p>
  </div>
)

const SHAPES: { readonly [State in Health.EndpointState]: React.JSX.Element } = {
  failing: <path d="M8 1.5 15 14H1Z" />,
  paused: <path d="M3 2h4v12H3zM9 2h4v12H9z" />,
  recovering: <path d="M8 1a7 7 0 1 0 0 14V1Zm0 1.5V13.5A5.5 5.5 0 0 0 8 2.5Z" fillRule="evenodd" />,
  answering: <circle cx="8" cy="8" r="6.5" />,
  idle: <circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" strokeWidth="2" />
}

/** The shape of a state: a small picture without words of its own, because the word stands beside it. */
const StateShape = ({ state }: { readonly state: Health.EndpointState }) => (
  <svg viewBox="0 0 16 16" width="14" height="14" fill="currentColor" aria-hidden="true">
    {SHAPES[state]}
  </svg>
)

const WIDTH = 144
const HEIGHT = 36
const STEP = 12

/** The calls of the last hour as twelve bars, answered ones below and failed ones hatched on top, with their sum in words. */
const CallsPicture = ({ counts }: { readonly counts: Health.HourlyCalls }) => {
  const hatch = useId()
  return (
    <svg
      className="calls-picture"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`The last hour: ${Endpoints.callsInWords(counts)}`}
    >
      <defs>
        <pattern id={hatch} width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect className="hatch-ground" width="4" height="4" />
          <rect className="hatch-line" width="1.5" height="4" />
        </pattern>
      </defs>
      <line className="ground" x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      {Endpoints.barsOf(counts).map(({ answeredHeight, failedHeight }, part) => {
        const answered = answeredHeight * (HEIGHT - 2)
        const failed = failedHeight * (HEIGHT - 2)
        return (
          <g key={part} transform={`translate(${part * STEP + 1} 0)`}>
            <rect className="answered" width={STEP - 2} height={answered} y={HEIGHT - 1 - answered} />
            <rect fill={`url(#${hatch})`} width={STEP - 2} height={failed} y={HEIGHT - 1 - answered - failed} />
          </g>
        )
      })}
    </svg>
  )
}
