/** The list of conversations: what each is doing, with search and tags. */
import { useDeferredValue, useId, useRef, useState } from "react"
import * as PageRoute from "../shell/PageRoute.ts"
import * as Service from "../service/Service.ts"
import * as Moments from "../text/Moments.ts"
import * as Actions from "../palette/Actions.ts"
import { useNow } from "../time/Now.ts"
import { BulkBar } from "../bulk/BulkBar.tsx"
import { useTokenCheck } from "../access/TokenForm.tsx"
import * as ConversationStatus from "./ConversationStatus.ts"
import { type Entry, PAGE, useConversations } from "./useConversations.ts"
import * as Problems from "../service/Problems.ts"
import "./list.css"
import { useQuery } from "@tanstack/react-query"

/** The list, with the selected conversation marked. */
export const ConversationList = ({ selected }: { readonly selected: string | undefined }) => {
  const [search, setSearch] = useState("")
  const [tag, setTag] = useState<string | undefined>(undefined)
  const [state, setState] = useState("any")
  const [most, setMost] = useState(PAGE)
  const searchId = useId()
  const field = useRef<HTMLInputElement>(null)
  Actions.useActions("Page", [{ name: "Search conversations", words: "find", run: () => field.current?.focus() }])
  const { data, error, isPending } = useConversations({ search: useDeferredValue(search.trim()), tag, most })
  useTokenCheck(Problems.codeOf(error))
  const entries = (data?.entries ?? []).filter(
    ({ conversation, turn }) =>
      state === "any" || STATES[state]?.includes(ConversationStatus.of(conversation, turn).kind) === true
  )
  const isFiltered = search.trim() !== "" || tag !== undefined || state !== "any"
  return (
    <section className="list" aria-label="Conversations" tabIndex={-1}>
      <h1 className="hidden">Conversations</h1>
      <div className="list-head">
        <a className="button primary" href={PageRoute.format({ page: "new" })}>
          New conversation
        </a>
        <label className="hidden" htmlFor={searchId}>
          Search in titles and prompts
        </label>
        <input
          id={searchId}
          ref={field}
          type="search"
          placeholder="Search titles and prompts"
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
        <select
          aria-label="Which conversations"
          value={state}
          onChange={({ target }) => {
            setState(target.value)
            // A state is looked for among more conversations than a screen shows.
            if (target.value !== "any") setMost(Math.max(most, MOST_OF_STATE))
          }}
        >
          <option value="any">all states</option>
          {Object.keys(STATES).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        {tag !== undefined && (
          <button type="button" className="tag" onClick={() => setTag(undefined)}>
            {tag} <span aria-hidden="true">×</span>
            <span className="hidden">: show all tags again</span>
          </button>
        )}
        {/* Also without turns: it has the result of the last command. */}
        <BulkBar turns={isFiltered ? entries.flatMap(({ turn }) => (turn === undefined ? [] : [turn])) : []} />
      </div>
      {error !== null && (
        <p className="notice" role="status">
          The service does not answer. The list is from before; it is read again by itself.
        </p>
      )}
      {!isFiltered && <HeldCalls selected={selected} />}
      {entries.length === 0 && error === null && (
        <p className="quiet pad" role="status">
          {isPending ? "Reading …" : !isFiltered ? "No conversations yet." : "No conversation matches."}
        </p>
      )}
      <ul className="entries">
        {entries.map((entry) => (
          <Item
            key={entry.conversation.conversationId}
            entry={entry}
            isSelected={entry.conversation.conversationId === selected}
            onTag={setTag}
          />
        ))}
      </ul>
      {data?.hasMore === true && (
        <button type="button" className="more" onClick={() => setMost(most + PAGE)}>
          Show more
        </button>
      )}
    </section>
  )
}

/** What a conversation does, as a person chooses it. */
const STATES: Readonly<Record<string, ReadonlyArray<ConversationStatus.ConversationStatus["kind"]>>> = {
  waiting: ["waiting", "queued"],
  "asks you": ["asking"],
  working: ["streaming"],
  failed: ["failed"],
  done: ["done", "aborted"]
}

/** Conversations among which a state is looked for. */
const MOST_OF_STATE = 160

interface ItemProps {
  readonly entry: Entry
  readonly isSelected: boolean
  readonly onTag: (tag: string) => void
}

const Item = ({ entry: { conversation, turn }, isSelected, onTag }: ItemProps) => {
  // The times of turns are by the service's clock.
  const now = useNow() + Service.clockSkewMs()
  const status = ConversationStatus.of(conversation, turn)
  return (
    <li className={isSelected ? "entry selected" : "entry"}>
      <a
        href={PageRoute.format({ page: "conversation", conversationId: conversation.conversationId })}
        aria-current={isSelected ? "page" : undefined}
      >
        <span className="entry-title">{conversation.title ?? "Untitled"}</span>
        <span className="entry-line">
          <span className={`status ${status.kind}`}>{ConversationStatus.wordsOf(status, now)}</span>
          <span className="quiet">
            {conversation.model} · {Moments.moment(conversation.createdAt, now)}
          </span>
        </span>
        {status.kind === "failed" && status.message !== "" && <span className="entry-error">{status.message}</span>}
      </a>
      {conversation.tags !== undefined && conversation.tags.length > 0 && (
        <span className="tags">
          {conversation.tags.map((tag) => (
            <button key={tag} type="button" className="tag" onClick={() => onTag(tag)}>
              <span className="hidden">Only conversations with the tag </span>
              {tag}
            </button>
          ))}
        </span>
      )}
    </li>
  )
}

// The calls of other programs that wait for an answer, above the conversations (X13).

/** The calls; nothing where none waits. */
const HeldCalls = ({ selected }: { readonly selected: string | undefined }) => {
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
                    {ConversationStatus.wordsOf({ kind: "waiting", dueAt: wait.retryAt }, now, conversationId)}
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
