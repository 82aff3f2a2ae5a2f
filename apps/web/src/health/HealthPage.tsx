/** Health: each endpoint with its gate, pauses and calls, the limits of providers, and the configuration in force. */
import { ReadFailure } from "../shell/ReadFailure.tsx"
import * as Moments from "../text/Moments.ts"
import { ConfigurationTable } from "./ConfigurationTable.tsx"
import { Endpoint } from "./Endpoint.tsx"
import * as Endpoints from "./Endpoints.ts"
import { Limits } from "./Limits.tsx"
import { useConfiguration, useHealth } from "./useHealth.ts"
import "./health.css"

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
