/** The configured limits of providers, and their use. */
import { Count, type Health } from "@holdfast/wire"
import * as Endpoints from "./Endpoints.ts"
import { Meter } from "./Meter.tsx"

const KINDS = [
  ["calls", "calls at once"],
  ["requestsPerMinute", "requests a minute"],
  ["tokensPerMinute", "tokens a minute"]
] as const

/** The limits; nothing where there are none. */
export const Limits = ({ limits }: { readonly limits: ReadonlyArray<Health.LimitReport> }) =>
  limits.length === 0 ? null : (
    <section className="limits" aria-labelledby="limits">
      <h2 id="limits">Limits of providers</h2>
      <ul>
        {limits.map((limit) => (
          <li key={limit.provider}>
            <h3>
              {limit.provider}
              {limit.waiting > 0 && (
                <span className="quiet"> · {Count.of(limit.waiting, "call waits", "calls wait")}</span>
              )}
            </h3>
            {KINDS.map(([kind, words]) => {
              const used = limit[kind]
              if (used === undefined) return null
              const text = `${Count.format(used.used)} of ${Count.format(used.limit)} ${words}`
              return (
                <div key={kind}>
                  <p>{text}</p>
                  <Meter
                    share={Endpoints.usedOf(used)}
                    label={`${limit.provider}: ${words}`}
                    words={text}
                    kind="used"
                  />
                </div>
              )
            })}
          </li>
        ))}
      </ul>
    </section>
  )
