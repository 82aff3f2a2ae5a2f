/** Health: each endpoint with its gate, pauses and calls, the limits of providers, and the configuration in force. */
import { ReadFailure } from "../shell/ReadFailure.tsx"
import * as Moments from "../text/Moments.ts"
import { ConfigurationTable } from "./ConfigurationTable.tsx"
import { Endpoint } from "./Endpoint.tsx"
import * as Endpoints from "./Endpoints.ts"
import { useConfiguration, useHealth } from "./useHealth.ts"
import "./health.css"
import { Count, type Health } from "@holdfast/wire"
import { Meter } from "./Meter.tsx"

/** The page of health. */
export const HealthPage = () => {
  const health = useHealth()
  const configuration = useConfiguration()
  const error = health.error ?? configuration.error
  return (
    <main id="detail" className="wide-page health" tabIndex={-1}>
      <title>Health · Holdfast</title>
      <h1>Health</h1>
      <ReadFailure error={error} />
      {health.data === undefined ? (
        error === null && <p className="quiet">Reading …</p>
      ) : (
        <>
          <p role="status">{Endpoints.summary(health.data.endpoints)}</p>
          {health.data.runner !== undefined && (
            <p className="quiet">
              Runner {health.data.runner}: gates and calls are its own. Pauses and limits are those of all runners.
            </p>
          )}
          <section aria-label="Endpoints">
            <ul className="endpoints">
              {Endpoints.ordered(health.data.endpoints).map((endpoint) => (
                <Endpoint
                  key={`${endpoint.target} ${endpoint.credential}`}
                  endpoint={endpoint}
                  at={health.data.at}
                  since={Moments.moment(health.data.countedSince, health.data.at)}
                />
              ))}
            </ul>
          </section>
          <Limits {...health.data} />
        </>
      )}
      {configuration.data !== undefined && <ConfigurationTable configuration={configuration.data} />}
    </main>
  )
}

// The limits of providers, configured and of their answers, and their use.

const KINDS = [
  ["calls", "calls at once"],
  ["requestsPerMinute", "requests a minute"],
  ["tokensPerMinute", "tokens a minute"]
] as const

/** The limits; nothing where there are none. */
const Limits = ({ at, limits, windows }: Pick<Health.Health, "at" | "limits" | "windows">) =>
  limits.length + windows.length === 0 ? null : (
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
              return <Use key={kind} text={text} share={Endpoints.usedOf(used)} label={`${limit.provider}: ${words}`} />
            })}
          </li>
        ))}
        {windows.map(({ credential, name, provider, resetAt, used }) => (
          <li key={`${provider} ${credential} ${name}`}>
            <h3>
              {provider} <span className="quiet">· {credential}</span>
            </h3>
            <Use
              text={`${Math.floor(used * 100)} % of ${name}${resetAt === undefined ? "" : `, begins anew ${Moments.moment(resetAt, at)}`}`}
              share={Math.min(1, used)}
              label={`${provider}, ${credential}: ${name}`}
            />
          </li>
        ))}
      </ul>
    </section>
  )

// --- internal

const Use = ({ label, share, text }: { readonly label: string; readonly share: number; readonly text: string }) => (
  <div>
    <p>{text}</p>
    <Meter share={share} label={label} words={text} kind="used" />
  </div>
)
