/** The calls of other programs that wait for an answer, above the conversations (X13). */
import { useQuery } from "@tanstack/react-query"
import * as Service from "../service/Service.ts"
import * as PageRoute from "../shell/PageRoute.ts"
import * as Moments from "../text/Moments.ts"
import { useNow } from "../time/Now.ts"
import * as ConversationStatus from "./ConversationStatus.ts"

/** The calls; nothing where none waits. */
export const HeldCalls = ({ selected }: { readonly selected: string | undefined }) => {
  // The times of turns are by the service's clock.
  const now = useNow() + Service.clockSkewMs()
  const { data = [] } = useQuery({
    queryKey: ["held calls"],
    queryFn: ({ signal }) => Service.first(Service.client.listTurns({ signal, status: "waiting", tag: TAG }), MOST + 1),
    refetchInterval: EVERY_MS
  })
  if (data.length === 0) return null
  return (
    <details className="held-calls" open>
      <summary>
        <h2>
          {data.length === 1
            ? "A call of another program waits"
            : `${data.length > MOST ? `More than ${MOST}` : data.length} calls of other programs wait`}
        </h2>
      </summary>
      <ul className="entries" aria-label="Calls of other programs">
        {data.slice(0, MOST).map(({ acceptedAt, conversationId, model, prompt, wait }) => (
          <li key={conversationId} className={conversationId === selected ? "entry selected" : "entry"}>
            <a
              href={PageRoute.format({ page: "conversation", conversationId })}
              aria-current={conversationId === selected ? "page" : undefined}
            >
              <span className="entry-title">{prompt}</span>
              <span className="entry-line">
                {wait !== undefined && (
                  <span className="status waiting">
                    {ConversationStatus.wordsOf({ kind: "waiting", dueAt: wait.retryAt }, now)}
                  </span>
                )}
                <span className="quiet">
                  {model} · {Moments.moment(acceptedAt, now)}
                </span>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </details>
  )
}

// --- internal

/** The service gives it to each of them. */
const TAG = "gateway"

/** The night has all of them. */
const MOST = 10

const EVERY_MS = 2_000
