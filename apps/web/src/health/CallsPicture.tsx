/** The calls of the last hour as twelve bars: answered ones below, failed ones hatched on top. */
import type { Health } from "@holdfast/wire"
import { useId } from "react"
import * as Endpoints from "./Endpoints.ts"

const WIDTH = 144
const HEIGHT = 36
const STEP = 12

/** The picture, with its sum in words. */
export const CallsPicture = ({ counts }: { readonly counts: Health.HourlyCalls }) => {
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
