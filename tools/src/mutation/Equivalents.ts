/**
 * Changes that no test can notice, and that the mutation runner therefore passes over.
 *
 * Equivalents.E1. Every entry has the reason why the changed program behaves the same.
 * Equivalents.E2. A rule describes a shape of code. A single place is listed by its text, so that it survives a moved line; an
 *                 entry that matches nothing any more is reported by the runner.
 */
import type { Node } from "oxc-parser"
import type { Name, Proposal } from "./Operators.ts"

export interface Rule {
  readonly reason: string
  readonly covers: (proposal: Proposal, node: Node, ancestors: ReadonlyArray<Node>, text: string) => boolean
}

/** Shapes of code. */
export const rules: ReadonlyArray<Rule> = [
  {
    reason: "`a < b ? a : b`: both operands are the result when they are equal",
    covers: ({ operator }, node, [parent], text) => {
      if (operator !== "boundary" || node.type !== "BinaryExpression") return false
      if (parent?.type !== "ConditionalExpression" || parent.test !== node) return false
      const operands = [node.left, node.right].map((side) => text.slice(side.start, side.end))
      const results = [parent.consequent, parent.alternate].map((side) => text.slice(side.start, side.end))
      return operands.toSorted().join("\n") === results.toSorted().join("\n")
    }
  },
  {
    reason: "`x satisfies never` as a statement: the compiler checks it, and nothing runs",
    covers: (_, node) => node.type === "ExpressionStatement" && node.expression.type === "TSSatisfiesExpression"
  },
  {
    reason:
      "`break` at the end of the last case that does something, `continue` at the end of a loop, `return` at the end of a function, or before `default: return x satisfies never`",
    covers: (_, node, [parent, above]) => {
      if (node.type === "BreakStatement" && node.label === null && parent?.type === "SwitchCase") {
        const cases = above?.type === "SwitchStatement" ? above.cases : []
        const last = cases.findLast(({ consequent }) => consequent.length > 0)
        return last === parent && parent.consequent.at(-1) === node
      }
      if (parent?.type === "SwitchCase" && above?.type === "SwitchStatement") {
        const next = above.cases[above.cases.indexOf(parent) + 1]?.consequent[0]
        if (node.type !== "ReturnStatement" || next?.type !== "ReturnStatement") return false
        return node.argument === null && next.argument?.type === "TSSatisfiesExpression"
      }
      if (parent?.type !== "BlockStatement") return false
      if (parent.body.at(-1) !== node) return false
      if (node.type === "ContinueStatement" && node.label === null) return isLoop(above)
      return node.type === "ReturnStatement" && node.argument === null && isFunction(above)
    }
  },
  {
    reason:
      "`true` in a table of type `Record<…, true>`: the compiler lets no other value in, so only the keys are read",
    covers: ({ operator }, node, [property, table, declarator], text) => {
      if (operator !== "constant" || node.type !== "Literal" || node.value !== true) return false
      if (property?.type !== "Property" || table?.type !== "ObjectExpression") return false
      if (declarator?.type !== "VariableDeclarator") return false
      return /, true>+$/.test(text.slice(declarator.id.start, declarator.id.end))
    }
  },
  {
    reason: "`a < b ? -1 : 1`: only the sign of a comparison is read",
    covers: ({ operator }, node, [above, ...others], text) => {
      const [whole, ...outer] = above?.type === "UnaryExpression" ? others : [above, ...others]
      if (operator !== "constant" || node.type !== "Literal" || whole?.type !== "ConditionalExpression") return false
      const results = [whole.consequent, whole.alternate].map((side) => text.slice(side.start, side.end))
      return /^-?1 -?1$/.test(results.join(" ")) && results[0] !== results[1] && outer.some(isOrder)
    }
  },
  {
    reason:
      "a `const` of a module named `PAGE` or `…AT_ONCE`: how many are taken at once is a matter of memory and time",
    covers: ({ operator }, node, ancestors) => {
      if (operator !== "constant" || node.type !== "Literal") return false
      const [declarator, , owner] = ancestors.filter(({ type }) => type !== "BinaryExpression")
      if (declarator?.type !== "VariableDeclarator" || declarator.id.type !== "Identifier") return false
      return owner?.type === "Program" && /^(?:PAGE|(?:[A-Z]+_)?AT_ONCE)$/.test(declarator.id.name)
    }
  },
  {
    reason: "`discard: true`: it only saves the memory of results that are not read",
    covers: ({ operator }, _, [parent]) =>
      operator === "constant" &&
      parent?.type === "Property" &&
      parent.key.type === "Identifier" &&
      parent.key.name === "discard"
  }
]

/** Single places. */
export interface Listed {
  readonly path: string
  readonly operator: Name
  /** The code that is changed, with each run of blanks as one. */
  readonly before: string
  /** The line that the change begins on, without its indentation. */
  readonly line: string
  readonly reason: string
}

export const listed: ReadonlyArray<Listed> = [
  {
    path: "packages/kernel/src/calls/TextBuffer.ts",
    operator: "boundary",
    before: "this.tree.length >= TREE",
    line: "if (this.tree.length >= TREE) this.flatten()",
    reason: "how long a tree grows is a matter of memory and time"
  },
  {
    path: "packages/kernel/src/calls/TextBuffer.ts",
    operator: "constant",
    before: "2048",
    line: "const TREE = 2048",
    reason: "how long a tree grows is a matter of memory and time"
  },
  {
    path: "packages/kernel/src/calls/TextBuffer.ts",
    operator: "constant",
    before: "0",
    line: "this.seen = this.tree.charCodeAt(0)",
    reason: "a tree becomes flat whichever of its characters is read"
  },
  {
    path: "packages/kernel/src/calls/TextBuffer.ts",
    operator: "constant",
    before: "0",
    line: "protected seen = 0",
    reason: "it is written, so that V8 reads a character, and never read"
  },
  {
    path: "packages/kernel/src/internal/calls/Summary.ts",
    operator: "constant",
    before: "250",
    line: "export const LEAST_CHARACTERS = 250",
    reason: "half of either is 125, and three quarters of three quarters of 16,000, and so on, are never 250"
  },
  {
    path: "packages/kernel/src/calls/ProviderCall.ts",
    operator: "dropped",
    before: "leave = undefined",
    line: "leave = undefined",
    reason: "a call that has begun is not left any more: this lets go of what the wait held"
  },
  {
    path: "packages/kernel/src/engine/Life.ts",
    operator: "dropped",
    before: "this.content = undefined",
    line: "this.content = undefined",
    reason: "it is read while a call is under way, which has its own: this lets go of what the last one said"
  },
  {
    path: "packages/kernel/src/turn/Directive.ts",
    operator: "constant",
    before: "0",
    line: "askedMs = 0",
    reason: "it is compared with a second"
  },
  {
    path: "packages/kernel/src/turn/Patience.ts",
    operator: "constant",
    before: "64",
    line: "const CAPACITY = 64",
    reason: "how many elements wait is a matter of memory and time"
  },
  {
    path: "packages/kernel/src/engine/Life.ts",
    operator: "dropped",
    before: 'throw new Error("there is nothing left to do in the turn")',
    line: 'if (effect?._tag !== "Start") throw new Error("there is nothing left to do in the turn")',
    reason: "where nothing is left, the next line throws as well: it reads the command that is not there"
  },
  {
    path: "packages/kernel/src/ports/Compactor.ts",
    operator: "constant",
    before: "0",
    line: "const outcome = call.outcome(0, () => 0) // the time and the draw are those of the compaction's record",
    reason: "the time and the draw are not read"
  },
  {
    path: "packages/kernel/src/internal/machine/Approvals.ts",
    operator: "constant",
    before: "0",
    line: "if (isIn(asked?.asks, call)) return 0",
    reason: "a question that is open has its end: of the number it is read only that there is one"
  },
  {
    path: "packages/policy/src/decision/Budget.ts",
    operator: "constant",
    before: "false",
    line: 'export const unlimited: WaitBudget = { measure: "scheduled", clip: false }',
    reason: "where there is no total nothing is clipped"
  },
  {
    path: "packages/policy/src/gate/Gate.ts",
    operator: "constant",
    before: "0",
    line: "proven: 0,",
    reason: "it is read behind an answer only, and one answer makes it 1"
  },
  {
    path: "packages/policy/src/simulation/Simulation.ts",
    operator: "constant",
    before: "false",
    line: "const situation = { failure, contentSeen: false, retries, defects: 0, spent, now }",
    reason: "`contentSeen` is judged by the turn loop before it asks a router; `Routes.direct` does not read it"
  },
  {
    path: "packages/policy/src/simulation/Preview.ts",
    operator: "constant",
    before: "429",
    line: 'failure("rate-limited", true, 429),',
    reason: "which error status it is decides nothing: routing asks whether there is one"
  },
  {
    path: "packages/policy/src/simulation/Preview.ts",
    operator: "constant",
    before: "529",
    line: 'failure("overloaded", true, 529),',
    reason: "which error status it is decides nothing: routing asks whether there is one"
  },
  {
    path: "packages/policy/src/simulation/Preview.ts",
    operator: "constant",
    before: "500",
    line: 'failure("server-error", true, 500),',
    reason: "which error status it is decides nothing: routing asks whether there is one"
  },
  {
    path: "packages/policy/src/simulation/Preview.ts",
    operator: "constant",
    before: "429",
    line: 'failure("quota-exhausted", false, 429),',
    reason: "which error status it is decides nothing: routing asks whether there is one"
  },
  {
    path: "packages/policy/src/simulation/Preview.ts",
    operator: "constant",
    before: "401",
    line: 'failure("auth", false, 401),',
    reason: "which error status it is decides nothing: routing asks whether there is one"
  },
  {
    path: "packages/policy/src/simulation/Preview.ts",
    operator: "constant",
    before: "404",
    line: 'failure("model-unavailable", false, 404),',
    reason: "which error status it is decides nothing: routing asks whether there is one"
  },
  {
    path: "packages/policy/src/simulation/Preview.ts",
    operator: "constant",
    before: "400",
    line: 'failure("bad-request", false, 400),',
    reason: "which error status it is decides nothing: routing asks whether there is one"
  },
  {
    path: "packages/policy/src/simulation/Simulation.ts",
    operator: "constant",
    before: "0",
    line: "const situation = { failure, contentSeen: false, retries, defects: 0, spent, now }",
    reason: "defects are judged by the turn loop before it asks a router; `Routes.direct` does not read them"
  },
  {
    path: "packages/policy/src/hint/BodyHint.ts",
    operator: "branch",
    before: "day === undefined || time === undefined || zone === undefined",
    line: "if (day === undefined || time === undefined || zone === undefined) return undefined",
    reason: "the patterns have all three wherever they match"
  },
  {
    path: "packages/policy/src/hint/BodyHint.ts",
    operator: "branch",
    before: "day === undefined || time === undefined",
    line: "if (day === undefined || time === undefined || zone === undefined) return undefined",
    reason: "the patterns have all three wherever they match"
  },
  {
    path: "packages/policy/src/routing/FallbackChain.ts",
    operator: "constant",
    before: "0",
    line: "return hasStandIns || (credentials[target.provider]?.length ?? 0) > 1",
    reason: "none and one are both not several"
  },
  {
    path: "packages/kernel/src/internal/calls/Summary.ts",
    operator: "boundary",
    before: "most >= LEAST_CHARACTERS",
    line: "for (let most = MOST_CHARACTERS; most >= LEAST_CHARACTERS; most *= 0.75) {",
    reason: "three quarters of three quarters of 16,000, and so on, are never 250"
  },
  {
    path: "packages/policy/src/routing/Prospect.ts",
    operator: "boundary",
    before: "pauses.length > 0",
    line: '!isDoubtful && pauses.length > 0 && pauses.every(({ reason }) => reason === "rate-limited")',
    reason: "a credential in use comes first among the free ones too"
  },
  {
    path: "packages/policy/src/routing/FallbackChain.ts",
    operator: "boundary",
    before: "at > 0",
    line: "order: at > 0 ? [...order.slice(at), ...order.slice(0, at)] : order,",
    reason: "an order that begins at its first target is the order"
  },
  {
    path: "packages/policy/src/classification/Thrown.ts",
    operator: "boundary",
    before: "level.length > 0",
    line: "for (let depth = 0; depth <= MAX_CAUSES && level.length > 0; depth++) {",
    reason: "in an empty level there is nothing to find, and none behind it"
  },
  {
    path: "packages/providers/src/decoding/SseParser.ts",
    operator: "constant",
    before: "0",
    line: 'if (held.length > 0) read("\\n")',
    reason: "a line of one character is no field"
  },
  {
    path: "packages/providers/src/decoding/Decoder.ts",
    operator: "dropped",
    before: "template = isPlain ? DeltaTemplate.of(raw, out.slice(before)) : undefined",
    line: "template = isPlain ? DeltaTemplate.of(raw, out.slice(before)) : undefined",
    reason: "what a template matches is the same when it is parsed: a template only saves time"
  },
  {
    path: "packages/providers/src/decoding/Decoder.ts",
    operator: "constant",
    before: "65_536",
    line: "const together = new Uint8Array(65_536)",
    reason: "how many bytes are decoded together is a matter of time"
  },
  {
    path: "packages/providers/src/decoding/Decoder.ts",
    operator: "boundary",
    before: "length + read.length > together.length",
    line: "if (length + read.length > together.length) return reads",
    reason: "how many bytes are decoded together is a matter of time"
  },
  {
    path: "packages/providers/src/dialects/AnswerEnd.ts",
    operator: "constant",
    before: "16",
    line: "export const KEPT = 16 * 1024",
    reason: "how much more is kept than a last frame has is a matter of memory"
  },
  {
    path: "packages/providers/src/dialects/AnswerEnd.ts",
    operator: "constant",
    before: "1024",
    line: "export const KEPT = 16 * 1024",
    reason: "how much more is kept than a last frame has is a matter of memory"
  },
  {
    path: "packages/providers/src/dialects/AnswerEnd.ts",
    operator: "boundary",
    before: "length + more > 2 * KEPT",
    line: "if (length + more > 2 * KEPT) {",
    reason: "as many bytes are kept as a last frame has, either way"
  },
  {
    path: "packages/providers/src/dialects/AnswerEnd.ts",
    operator: "constant",
    before: "2",
    line: "const larger = new Uint8Array(Math.min(2 * KEPT, Math.max(2 * buffer.length, length + more, 2048)))",
    reason: "how far a buffer grows at once is a matter of memory and time"
  },
  {
    path: "packages/providers/src/dialects/AnswerEnd.ts",
    operator: "constant",
    before: "2048",
    line: "const larger = new Uint8Array(Math.min(2 * KEPT, Math.max(2 * buffer.length, length + more, 2048)))",
    reason: "how far a buffer grows at once is a matter of memory and time"
  },
  {
    path: "packages/providers/src/dialects/AnswerEnd.ts",
    operator: "constant",
    before: "16",
    line: "const MOST_FRAMES = 16",
    reason: "the end of an answer is in fewer frames"
  },
  {
    path: "packages/policy/src/decision/Backoff.ts",
    operator: "boundary",
    before: "ms < LONGEST_MS",
    line: "const bounded = (ms: number): number => (ms < LONGEST_MS ? Math.max(0, Math.round(ms)) : LONGEST_MS)",
    reason: "the longest delay is a whole number: rounded it is itself"
  },
  {
    path: "apps/session-orchestrator/src/http/docs/DocsPage.ts",
    operator: "dropped",
    before: "await dispose()",
    line: "await dispose()",
    reason: "the handler is of an empty API, which holds nothing but memory"
  },
  {
    path: "packages/journal/src/Spread.ts",
    operator: "constant",
    before: "1",
    line: "const stepMs = Math.min(STEP_MS, WINDOW_MS / Math.max(1, due.length))",
    reason: "the first turn starts at once, however long a step is"
  },
  {
    path: "apps/session-orchestrator/src/engine/session/Backlog.ts",
    operator: "constant",
    before: "0",
    line: "private end = 0",
    reason: "numbers of frames are compared with each other alone: it does not matter where they begin"
  },
  {
    path: "apps/session-orchestrator/src/engine/session/Backlog.ts",
    operator: "constant",
    before: "0",
    line: "private lagging = 0",
    reason: "the first frame sets it, and nothing reads it before"
  },
  {
    path: "apps/session-orchestrator/src/engine/orchestrator/NewConversation.ts",
    operator: "constant",
    before: "1",
    line: "const unknown = tools?.findIndex((server) => !toolServers.includes(server)) ?? -1",
    reason: "each number below zero is passed over"
  },
  {
    path: "apps/session-orchestrator/src/engine/session/Backlog.ts",
    operator: "constant",
    before: "0",
    line: "private total = 0",
    reason: "what was counted is compared with what was counted before: it does not matter where that begins"
  },
  {
    path: "apps/session-orchestrator/src/engine/session/Watching.ts",
    operator: "constant",
    before: "1",
    line: "return known.size === 0 ? frames : frames.filter(({ event }, at) => at > (known.get(event.turnId) ?? -1))",
    reason: "each place is above both"
  },
  {
    path: "apps/session-orchestrator/src/cluster/Claims.ts",
    operator: "constant",
    before: "1",
    line: 'const numberOf = (id: Ids.ConversationId): number => createHash("sha256").update(id).digest().readUInt32BE(0) >>> 1',
    reason: "each part of a digest is as good as another"
  },
  {
    path: "apps/session-orchestrator/src/engine/turn/Admission.ts",
    operator: "constant",
    before: "0",
    line: "const leave = limiter.request(limiter.countsTokens ? sizeOf(request) : 0, (permit) =>",
    reason: "where no limit counts tokens, none reads how many they are"
  },
  {
    path: "apps/session-orchestrator/src/gateway/LocalWaits.ts",
    operator: "boundary",
    before: "at + KEPT_MS <= now",
    line: "for (const [given, { at }] of givenUp) if (at + KEPT_MS <= now) givenUp.delete(given)",
    reason: "what has reached its end is not found either way: this lets go of its memory"
  },
  {
    path: "apps/session-orchestrator/src/cluster/Claims.ts",
    operator: "constant",
    before: "0",
    line: 'const numberOf = (id: Ids.ConversationId): number => createHash("sha256").update(id).digest().readUInt32BE(0) >>> 1',
    reason: "each part of a digest is as good as another"
  },
  {
    path: "apps/session-orchestrator/src/engine/session/Hub.ts",
    operator: "constant",
    before: "false",
    line: "private isMissed = false",
    reason: "a frame sets it before it is read"
  },
  {
    path: "apps/session-orchestrator/src/engine/session/InProgress.ts",
    operator: "dropped",
    before: "this.shown = []",
    line: "this.shown = []",
    reason: "frames of other events are not shown again: this lets go of their memory"
  },
  {
    path: "apps/session-orchestrator/src/config/reading/Nearest.ts",
    operator: "constant",
    before: "1",
    line: "let last: ReadonlyArray<number> = Array.from({ length: b.length + 1 }, (_, j) => j)",
    reason: "nothing reads a row behind the length of the other name"
  },
  {
    path: "packages/journal/src/sqlite/SqliteClient.ts",
    operator: "constant",
    before: "32",
    line: "const CACHE_KIB = 32 * 1024",
    reason: "how much of a file is kept in memory is a matter of memory and time"
  },
  {
    path: "packages/journal/src/sqlite/SqliteClient.ts",
    operator: "constant",
    before: "1024",
    line: "const CACHE_KIB = 32 * 1024",
    reason: "how much of a file is kept in memory is a matter of memory and time"
  },
  {
    path: "packages/journal/src/sqlite/SqliteClient.ts",
    operator: "constant",
    before: "1024",
    line: "const MAPPED_BYTES = 1024 * 1024 * 1024",
    reason: "how much of a file is kept in memory is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/engine/spend/TurnUse.ts",
    operator: "constant",
    before: "8",
    line: "return Effect.map(Effect.forEach(wanted, historyOf, { concurrency: 8 }), (histories) => {",
    reason: "how many are read at once is a matter of pace"
  },
  {
    path: "apps/session-orchestrator/src/engine/gate/RecentCalls.ts",
    operator: "constant",
    before: "1",
    line: "const part = minute === undefined ? -1 : Math.floor((minute.at - first) / MINUTES_A_PART)",
    reason: "each number below zero is passed over"
  },
  {
    path: "apps/session-orchestrator/src/engine/gate/RecentCalls.ts",
    operator: "constant",
    before: "0",
    line: "calls[part] = (calls[part] ?? 0) + minute.calls",
    reason: "each part has a count from the beginning"
  },
  {
    path: "apps/session-orchestrator/src/engine/gate/RecentCalls.ts",
    operator: "constant",
    before: "0",
    line: "failed[part] = (failed[part] ?? 0) + minute.failed",
    reason: "each part has a count from the beginning"
  },
  {
    path: "apps/session-orchestrator/src/engine/gate/Gatekeeper.ts",
    operator: "dropped",
    before: "this.holds.delete(sleeper)",
    line: "this.holds.delete(sleeper)",
    reason: "its alarm was cancelled on the line before, so nothing reads the hold again; it only keeps memory"
  },
  {
    path: "apps/session-orchestrator/src/engine/gate/Limiter.ts",
    operator: "dropped",
    before: "keys.set(provider, key)",
    line: "keys.set(provider, key)",
    reason: "the key of a provider is made again, and is the same"
  },
  {
    path: "apps/session-orchestrator/src/engine/orchestrator/Acceptance.ts",
    operator: "constant",
    before: "0",
    line: "opening[0]?.id === FIRST_EVENT",
    reason: "the start of the turn is then read from the store, which has the same"
  },
  {
    path: "apps/session-orchestrator/src/engine/driver/Entrance.ts",
    operator: "constant",
    before: "true",
    line: "{ concurrent: true }",
    reason: "how many are read at once is a matter of pace"
  },
  {
    path: "apps/session-orchestrator/src/engine/turn/TurnSetting.ts",
    operator: "constant",
    before: "0",
    line: "held === undefined ? (request) => ContextSize.of(request, Tokenizer.count) : () => 0",
    reason: "no window and no budget has less than one token"
  },
  {
    path: "apps/session-orchestrator/src/engine/spend/Spending.ts",
    operator: "branch",
    before: "!hasTags || account.knows(turnId)",
    line: "(!hasTags || account.knows(turnId)) &&",
    reason: "a turn that counts as unprepared is prepared again, which reads nothing that is known"
  },
  {
    path: "apps/session-orchestrator/src/engine/spend/Spending.ts",
    operator: "branch",
    before: "!readsConversations || account.knowsConversation(turnId, conversationId)",
    line: "(!readsConversations || account.knowsConversation(turnId, conversationId))",
    reason: "a turn that counts as unprepared is prepared again, which reads nothing that is known"
  },
  {
    path: "apps/session-orchestrator/src/engine/pacing/LoopBudget.ts",
    operator: "boundary",
    before: "this.spent > this.most / 16",
    line: "if (this.spent > this.most / 16) this.count()",
    reason: "from when on an immediate is worth its cost is a matter of pace"
  },
  {
    path: "apps/session-orchestrator/src/engine/pacing/LoopBudget.ts",
    operator: "constant",
    before: "16",
    line: "if (this.spent > this.most / 16) this.count()",
    reason: "from when on an immediate is worth its cost is a matter of pace"
  },
  {
    path: "apps/session-orchestrator/src/engine/pacing/Quarantine.ts",
    operator: "dropped",
    before: "return",
    line: "if (entrant === undefined) return",
    reason: "it is called only while a suspect waits: the alarm stops with the last of them"
  },
  {
    path: "apps/session-orchestrator/src/engine/session/Watching.ts",
    operator: "constant",
    before: "1",
    line: "const stored = fromDisk(Math.max(0, after - 1)).pipe(",
    reason: "one more event that the watcher has is read, and passed over like the other"
  },
  {
    path: "apps/session-orchestrator/src/engine/session/Backlog.ts",
    operator: "boundary",
    before: "endOf(page) > slowest",
    line: "this.pages = this.pages.filter((page) => endOf(page) > slowest)",
    reason: "a page that every reader has taken is kept a page longer: a matter of memory"
  },
  {
    path: "apps/session-orchestrator/src/engine/turn/TurnSetting.ts",
    operator: "boundary",
    before: "(policy.maxResponseCharacters ?? 0) > most",
    line: "return (policy.maxResponseCharacters ?? 0) > most ? { ...policy, maxResponseCharacters: most } : policy",
    reason: "a limit that is equal to the most becomes the same number"
  },
  {
    path: "apps/session-orchestrator/src/engine/turn/TurnSetting.ts",
    operator: "dropped",
    before: "policies.set(retry, policy)",
    line: "policies.set(retry, policy)",
    reason: "the policy is resolved again, and is the same"
  },
  {
    path: "apps/session-orchestrator/src/engine/turn/TurnPlan.ts",
    operator: "dropped",
    before: "counted.set(schedule, { budget, maxDelayMs, most: count })",
    line: "counted.set(schedule, { budget, maxDelayMs, most: count })",
    reason: "the retries are counted again, and are as many"
  },
  {
    path: "apps/session-orchestrator/src/engine/parking/Waking.ts",
    operator: "constant",
    before: "64",
    line: "const LIMITS = { atOnce: 64, reading: 16, ahead: 2_048, size: 64 * 1024 * 1024 }",
    reason: "how many turns are woken or read at once is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/engine/parking/Waking.ts",
    operator: "constant",
    before: "16",
    line: "const LIMITS = { atOnce: 64, reading: 16, ahead: 2_048, size: 64 * 1024 * 1024 }",
    reason: "how many turns are woken or read at once is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/engine/parking/Waking.ts",
    operator: "constant",
    before: "2_048",
    line: "const LIMITS = { atOnce: 64, reading: 16, ahead: 2_048, size: 64 * 1024 * 1024 }",
    reason: "how many turns are woken or read at once is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/engine/parking/Waking.ts",
    operator: "constant",
    before: "1024",
    line: "const LIMITS = { atOnce: 64, reading: 16, ahead: 2_048, size: 64 * 1024 * 1024 }",
    reason: "how many turns are woken or read at once is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/engine/orchestrator/Orchestrator.ts",
    operator: "branch",
    before: 'command.type === "answered" && steering.type === "answer-tool"',
    line: 'if (command.type === "answered" && steering.type === "answer-tool" && steering.always === true)',
    reason: "a command is `answered` if it came as `answer-tool`, and else not: both are asked for their types"
  },
  {
    path: "apps/session-orchestrator/src/engine/gate/Gates.ts",
    operator: "constant",
    before: "0",
    line: "const NOTHING: News.News = { triedAt: 0, answeredAt: 0, failedAt: 0, failure: undefined, n: 0 }",
    reason: "no call is of the first millisecond of 1970, and `n` is not compared"
  },
  {
    path: "apps/session-orchestrator/src/engine/gate/Gates.ts",
    operator: "constant",
    before: "0",
    line: "const UNUSED = new Gatekeeper({ now: () => 0, at: () => () => {} }).view",
    reason: "the view of a gate without turns reads no time"
  },
  {
    path: "apps/session-orchestrator/src/storage/Store.ts",
    operator: "constant",
    before: "1",
    line: "const prompt = yield* together(1, (ids: ReadonlyArray<Ids.TurnId>) => TurnTable.findWhole(sql, ids))",
    reason: "how many prompts are read at once is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/TurnTable.ts",
    operator: "branch",
    before: "number === undefined || tail === undefined",
    line: "if (number === undefined || tail === undefined) return []",
    reason: "the insert has failed where an id is taken or a conversation is unknown: both are asked for their types"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/ExplanationText.ts",
    operator: "constant",
    before: "0",
    line: "for (const one of happened.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0))) page.entry(one.at, page.said(one, one.at))",
    reason: "what has no time comes before every time of a record, which are of this century"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/RecordTable.ts",
    operator: "boundary",
    before: "from < 0",
    line: "return from < 0 || to < from ? undefined : json.slice(from + CONTENT.length, to)",
    reason: "no JSON of an event begins with a key"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/RecordTable.ts",
    operator: "constant",
    before: "0",
    line: "return from < 0 || to < from ? undefined : json.slice(from + CONTENT.length, to)",
    reason: "no JSON of an event begins with a key"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/RecordTable.ts",
    operator: "boundary",
    before: "to < from",
    line: "return from < 0 || to < from ? undefined : json.slice(from + CONTENT.length, to)",
    reason: "two unlike keys do not begin at one place"
  },
  {
    path: "apps/session-orchestrator/src/http/HttpServer.ts",
    operator: "constant",
    before: "50",
    line: "const QUIET_INTERVAL = Duration.millis(50)",
    reason: "how often it is looked at is a matter of time"
  },
  {
    path: "apps/session-orchestrator/src/engine/driver/DrivenTurn.ts",
    operator: "constant",
    before: "2",
    line: "return (name ??= draw().toString(36).slice(2))",
    reason: "a name that is drawn from many is as good with a character less"
  },
  {
    path: "apps/session-orchestrator/src/config/report/FinalReports.ts",
    operator: "constant",
    before: "100",
    line: "const MOST_COMPILED = 100",
    reason: "how many checks are kept compiled is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/config/report/FinalReports.ts",
    operator: "constant",
    before: "0",
    line: "let compilations = 0",
    reason: "how many checks are kept compiled is a matter of memory and time"
  },
  {
    path: "packages/journal/src/sqlite/SqliteClient.ts",
    operator: "dropped",
    before: "prepared.delete(oldest)",
    line: "prepared.delete(oldest)",
    reason: "how many statements are kept prepared is a matter of memory and time"
  },
  {
    path: "packages/journal/src/sqlite/SqliteClient.ts",
    operator: "dropped",
    before: "prepared.set(sql, statement)",
    line: "prepared.set(sql, statement)",
    reason: "how many statements are kept prepared is a matter of memory and time"
  },
  {
    path: "packages/mcp/src/ToolNames.ts",
    operator: "constant",
    before: "0",
    line: "const wanted = (owners.get(plain)?.size ?? 0) > 1 ? legal(`${server}${SEPARATOR}${plain}`) : plain",
    reason: "either number is no more than 1"
  },
  {
    path: "apps/session-orchestrator/src/base/text/Prose.ts",
    operator: "boundary",
    before: "widthOf(word) <= width",
    line: "if (widthOf(word) <= width) return [word]",
    reason: "a word as wide as a line is one piece either way"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/Words.ts",
    operator: "boundary",
    before: "waitedMs < LATE_MS",
    line: "const waited = `${waitedMs < LATE_MS ? DurationText.format(waitedMs) : DurationText.format(wholeSeconds(waitedMs))} of waiting`",
    reason: "a second is a whole second"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/Words.ts",
    operator: "boundary",
    before: "waitedMs < sleptMs",
    line: "return waitedMs < sleptMs ? `${waited} (${scheduled} were scheduled)` : waited",
    reason: "equal times are as scheduled, which returns before"
  },
  {
    path: "apps/session-orchestrator/src/ops/telemetry/metrics/Series.ts",
    operator: "dropped",
    before: "return",
    line: "if (opened.has(name)) return",
    reason: "a series that exists keeps its value: this only saves time"
  },
  {
    path: "apps/session-orchestrator/src/ops/telemetry/metrics/Series.ts",
    operator: "dropped",
    before: "opened.add(name)",
    line: "opened.add(name)",
    reason: "a series that exists keeps its value: this only saves time"
  },
  {
    path: "apps/session-orchestrator/src/ops/telemetry/metrics/Series.ts",
    operator: "dropped",
    before: "contexts.set(name, made)",
    line: "contexts.set(name, made)",
    reason: "a metric finds its series by the same labels: this only saves time"
  },
  {
    path: "apps/session-orchestrator/src/config/redaction/Secrets.ts",
    operator: "dropped",
    before: "compiled.set(config, known)",
    line: "compiled.set(config, known)",
    reason: "the same secrets are compiled again: this only saves time"
  },
  {
    path: "apps/session-orchestrator/src/config/redaction/Secrets.ts",
    operator: "dropped",
    before: "escapes.set(character, forms)",
    line: "escapes.set(character, forms)",
    reason: "the same forms are made again: this only saves time"
  },
  {
    path: "apps/session-orchestrator/src/config/report/FinalReports.ts",
    operator: "dropped",
    before: "compiled.set(key, validate)",
    line: "compiled.set(key, validate)",
    reason: "the same check is compiled again: this only saves time"
  },
  {
    path: "apps/session-orchestrator/src/config/report/FinalReports.ts",
    operator: "boundary",
    before: "compilations++ >= MOST_COMPILED",
    line: "if (compilations++ >= MOST_COMPILED) {",
    reason: "how many checks are kept compiled is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/cli/MediaTypes.ts",
    operator: "constant",
    before: "16",
    line: 'const start = Buffer.from(bytes.subarray(0, 16)).toString("latin1")',
    reason: "the patterns read twelve bytes"
  },
  {
    path: "apps/session-orchestrator/src/ops/delivery/Deliveries.ts",
    operator: "constant",
    before: "0",
    line: "let forgottenAt = 0",
    reason: "an hour has passed since 1970 either way"
  },
  {
    path: "apps/session-orchestrator/src/acp/AcpUpdates.ts",
    operator: "constant",
    before: "1",
    line: "return [{ ...before, wait: toolCallId, waits: before.waits + 1 }, [begun]]",
    reason: "the waits have different numbers either way"
  },
  {
    path: "apps/session-orchestrator/src/gateway/CallBody.ts",
    operator: "comparison",
    before: "a < b",
    line: "isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value",
    reason: "any order of the names serves: it is the same for two bodies with the same names"
  },
  {
    path: "apps/session-orchestrator/src/gateway/CallBody.ts",
    operator: "boundary",
    before: "a < b",
    line: "isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value",
    reason: "no two names of an object are equal"
  },
  {
    path: "apps/session-orchestrator/src/gateway/CallBody.ts",
    operator: "boundary",
    before: "place.end - place.start > MOST_BYTES",
    line: "if (place === undefined || place.end - place.start > MOST_BYTES) return undefined",
    reason: "a value of a thousand bytes is no switch, and no name of a model, which ends before (Gateway)"
  },
  {
    path: "apps/session-orchestrator/src/base/system/MemoryReturn.ts",
    operator: "constant",
    before: "0",
    line: "let quietMs = 0",
    reason: "a sample adds two seconds, so a millisecond more brings no collection forward"
  },
  {
    path: "apps/session-orchestrator/src/base/system/MemoryReturn.ts",
    operator: "constant",
    before: "0",
    line: "quietMs = connections() > FEW_CONNECTIONS ? 0 : quietMs + INTERVAL_MS",
    reason: "a sample adds two seconds, so a millisecond more brings no collection forward"
  },
  {
    path: "apps/session-orchestrator/src/base/system/MemoryReturn.ts",
    operator: "constant",
    before: "0",
    line: "quietMs = 0",
    reason: "a sample adds two seconds, so a millisecond more brings no collection forward"
  },
  {
    path: "apps/session-orchestrator/src/http/ProblemResponse.ts",
    operator: "constant",
    before: "1",
    line: 'Effect.annotateLogs({ incident, method: request.method, path: request.url.split("?", 1)[0] })',
    reason: "the first piece is the same, however many are made"
  },
  {
    path: "apps/session-orchestrator/src/http/ui/UiHandlers.ts",
    operator: "boundary",
    before: "comma < 0",
    line: 'if (comma < 0) return Result.fail("A file has an address of the scheme data: without data.")',
    reason: 'the address begins with "data:", so no comma is at its beginning'
  },
  {
    path: "apps/session-orchestrator/src/http/ui/UiHandlers.ts",
    operator: "constant",
    before: "0",
    line: 'if (comma < 0) return Result.fail("A file has an address of the scheme data: without data.")',
    reason: 'the address begins with "data:", so no comma is at its beginning'
  },
  {
    path: "apps/session-orchestrator/src/http/Access.ts",
    operator: "constant",
    before: "0",
    line: 'const length = Number(headers["content-length"] ?? 0)',
    reason: "no limit of a body is less than a byte"
  },
  {
    path: "apps/session-orchestrator/src/http/Access.ts",
    operator: "branch",
    before: "token === undefined || isToken === undefined",
    line: "token === undefined ||",
    reason: "there is a comparison where there is a token, and none elsewhere"
  },
  {
    path: "apps/session-orchestrator/src/base/system/Descriptors.ts",
    operator: "constant",
    before: "0",
    line: "let known = 0",
    reason: "the first call counts before it is read"
  },
  {
    path: "apps/session-orchestrator/src/base/text/LocalTime.ts",
    operator: "constant",
    before: "0",
    line: 'const [hours = 0, minutes = 0] = time.split(":").map(Number)',
    reason: "a time of day is checked before: it has its hours and its minutes"
  },
  {
    path: "apps/session-orchestrator/src/base/tokens/ContextSize.ts",
    operator: "constant",
    before: "0",
    line: "? (known.usage?.inputTokens ?? 0) + (known.usage?.outputTokens ?? 0)",
    reason: "a message that is counted has its input tokens"
  },
  {
    path: "apps/session-orchestrator/src/config/Resolve.ts",
    operator: "constant",
    before: "0",
    line: 'const runner = parseRunner(cluster.runner) ?? { host: "", port: 0 }',
    reason: "an address of a runner that cannot be read is a problem of its setting, and ends before"
  },
  {
    path: "apps/session-orchestrator/src/gateway/LimitGauges.ts",
    operator: "constant",
    before: "0",
    line: "const { credential, name, provider, resetAt = 0 } = window",
    reason: "a millisecond is less than the id is rounded to"
  },
  {
    path: "apps/session-orchestrator/src/gateway/Holding.ts",
    operator: "constant",
    before: "0",
    line: "const since = HeldCallIds.read(conversationId)?.since ?? 0",
    reason: "the id of a held call has when it began"
  },
  {
    path: "apps/session-orchestrator/src/http/socket/SocketServer.ts",
    operator: "constant",
    before: "0",
    line: "this.head.push(bytes[at] ?? 0)",
    reason: "the index is within the bytes"
  },
  {
    path: "apps/session-orchestrator/src/http/socket/SocketServer.ts",
    operator: "constant",
    before: "0",
    line: "const [first = 0, second = 0, ...rest] = this.head",
    reason: "a byte of the head was added before, and a head of one byte is not read to its end"
  },
  {
    path: "apps/session-orchestrator/src/http/socket/SocketServer.ts",
    operator: "constant",
    before: "0",
    line: "for (let n = 0; n < plain.length; n++) plain[n] = (plain[n] ?? 0) ^ (mask[(done + n) & 3] ?? 0)",
    reason: "the indexes are within the bytes and within the mask"
  },
  {
    path: "apps/session-orchestrator/src/config/report/FinalReports.ts",
    operator: "dropped",
    before: "checkers.set(draft, made)",
    line: "checkers.set(draft, made)",
    reason: "a checker that is made again checks the same: it is kept for its time"
  },
  {
    path: "apps/session-orchestrator/src/http/socket/SocketServer.ts",
    operator: "constant",
    before: "false",
    line: "private isControl = false",
    reason: "the first head sets it before it is read"
  },
  {
    path: "apps/session-orchestrator/src/base/text/PolicyText.ts",
    operator: "constant",
    before: "0",
    line: "return `the next wait would be longer than ${DurationText.format(policy.maxDelayMs ?? 0)} (retry.maxDelay).`",
    reason: "a schedule that ends for this limit has the limit"
  },
  {
    path: "apps/session-orchestrator/src/base/text/PolicyText.ts",
    operator: "constant",
    before: "0",
    line: "return `the next wait would not fit into the budget of ${DurationText.format(policy.budget.totalMs ?? 0)} (retry.budget).`",
    reason: "a schedule that ends for this limit has the limit"
  },
  {
    path: "apps/session-orchestrator/src/base/text/PolicyText.ts",
    operator: "constant",
    before: "0",
    line: ": `there are no more than ${count(RetryPolicy.mostRetries(policy) ?? 0)} (retry.maxRetries).`",
    reason: "only a limit ends a schedule by that limit"
  },
  {
    path: "apps/session-orchestrator/src/ops/telemetry/incidents/EndpointLog.ts",
    operator: "branch",
    before: 'outcome?._tag === "Failed" && "whole" in outcome && outcome.whole === true',
    line: 'outcome?._tag === "Completed" || (outcome?._tag === "Failed" && "whole" in outcome && outcome.whole === true)',
    reason: "only a failure is `whole`, and it is `true` where it is there"
  },
  {
    path: "apps/session-orchestrator/src/ops/telemetry/incidents/EndpointLog.ts",
    operator: "branch",
    before: 'outcome?._tag === "Failed" && "whole" in outcome',
    line: 'outcome?._tag === "Completed" || (outcome?._tag === "Failed" && "whole" in outcome && outcome.whole === true)',
    reason: "only a failure is `whole`: the rest is for the compiler"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/TurnReport.ts",
    operator: "constant",
    before: "0",
    line: "const spent = Spending.spentAt(History.spendingAfterWait(history), failure, now, 0)",
    reason: "the spread draws the jitter of a wait: what is left of a budget has none"
  },
  {
    path: "apps/session-orchestrator/src/config/TelemetryChoice.ts",
    operator: "constant",
    before: "false",
    line: "const given = retryLog === false ? undefined : retryLog",
    reason: "`false` has no path either, and no log is kept then"
  },
  {
    path: "apps/session-orchestrator/src/config/report/FinalReports.ts",
    operator: "dropped",
    before: "globals.call = undefined",
    line: "globals.call = undefined",
    reason: "the next call writes its own: this lets go of what the last one held"
  },
  {
    path: "apps/session-orchestrator/src/cli/client/LeftTurns.ts",
    operator: "boundary",
    before: "open.size > 0",
    line: "while (open.size > 0) {",
    reason: "a command names one turn at least, and the loop is left once none is open"
  },
  {
    path: "apps/session-orchestrator/src/config/reading/Sources.ts",
    operator: "branch",
    before: 'typeof value !== "object" || value === null',
    line: 'if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, key)) {',
    reason: "no problem is inside of `null`, and what is no object has none of its keys"
  },
  {
    path: "apps/session-orchestrator/src/config/report/FinalReports.ts",
    operator: "constant",
    before: "1",
    line: "compilations = 1",
    reason: "how many checks are kept compiled is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Outages.ts",
    operator: "boundary",
    before: "a.target < b.target",
    line: ".toSorted((a, b) => a.beganAt - b.beganAt || (a.target < b.target ? -1 : 1))",
    reason: "an endpoint begins one outage at a moment"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Outages.ts",
    operator: "dropped",
    before: "this.whys.set(key, known)",
    line: "this.whys.set(key, known)",
    reason: "one object for alike failures is a matter of memory"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Outages.ts",
    operator: "boundary",
    before: "outages.length <= most",
    line: "if (outages.length <= most) return outages",
    reason: "as many as are kept are all kept"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Outages.ts",
    operator: "boundary",
    before: "keyOf(a.why) < keyOf(b.why)",
    line: "const failed = failures.toSorted((a, b) => a.at - b.at || (keyOf(a.why) < keyOf(b.why) ? -1 : 1))",
    reason: "failures with the same words at the same moment are alike"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Outages.ts",
    operator: "boundary",
    before: "i < failed.length",
    line: "for (let i = 0; i < failed.length;) {",
    reason: "behind the last failure there is none, which ends the loop as well"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Outages.ts",
    operator: "dropped",
    before: "break",
    line: "if (first === undefined) break",
    reason: "the index is within the failures"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Outages.ts",
    operator: "boundary",
    before: "next < answered.length",
    line: "while (next < answered.length && (answered[next] ?? 0) < first.at) next++",
    reason: "behind the last answer there is none either way"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Outages.ts",
    operator: "constant",
    before: "0",
    line: "while (next < answered.length && (answered[next] ?? 0) < first.at) next++",
    reason: "the index is within the answers"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodPicture.ts",
    operator: "constant",
    before: "0",
    line: "const mostEnds = Math.max(0, ...timeline.answered.map((answered, i) => answered + (timeline.failed[i] ?? 0)))",
    reason: "where no turn has ended there is no column to draw, and both counts have all parts"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodPicture.ts",
    operator: "constant",
    before: "0",
    line: "const failed = timeline.failed[i] ?? 0",
    reason: "both counts have all parts"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodTally.ts",
    operator: "boundary",
    before: "`${a.from}\\n${a.to}` < `${b.from}\\n${b.to}`",
    line: "(a, b) => b.count - a.count || (`${a.from}\\n${a.to}` < `${b.from}\\n${b.to}` ? -1 : 1)",
    reason: "a switch from one target to another is listed once"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodTally.ts",
    operator: "boundary",
    before: "a.turnId < b.turnId",
    line: "questions: this.questions.toSorted((a, b) => a.until - b.until || (a.turnId < b.turnId ? -1 : 1)),",
    reason: "no two turns have the same id"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodTally.ts",
    operator: "boundary",
    before: "a.name < b.name",
    line: "a.name < b.name ? -1 : 1",
    reason: "a tag is listed once"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodTally.ts",
    operator: "comparison",
    before: "this.spans.length > MOST_SPANS",
    line: "if (this.spans.length > MOST_SPANS) this.spans = [...Timeline.union(this.spans)]",
    reason: "when spans are joined is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodTally.ts",
    operator: "boundary",
    before: "this.spans.length > MOST_SPANS",
    line: "if (this.spans.length > MOST_SPANS) this.spans = [...Timeline.union(this.spans)]",
    reason: "when spans are joined is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodTally.ts",
    operator: "dropped",
    before: "this.spans = [...Timeline.union(this.spans)]",
    line: "if (this.spans.length > MOST_SPANS) this.spans = [...Timeline.union(this.spans)]",
    reason: "when spans are joined is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodTally.ts",
    operator: "constant",
    before: "50_000",
    line: "const MOST_SPANS = 50_000",
    reason: "when spans are joined is a matter of memory and time"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodTally.ts",
    operator: "constant",
    before: "1",
    line: 'const costOf = ({ cost }: PeriodReport.Spend): number => (cost === "unknown" ? -1 : cost)',
    reason: "every known cost is above either number"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodTally.ts",
    operator: "boundary",
    before: "a.name < b.name",
    line: ".toSorted((a, b) => costOf(b) - costOf(a) || tokensOf(b) - tokensOf(a) || (a.name < b.name ? -1 : 1))",
    reason: "a conversation is listed once"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodTally.ts",
    operator: "constant",
    before: "0",
    line: "open.length > 0 && open.every((turn) => (this.newest.get(turn.conversationId) ?? 0) > turn.acceptedAt)",
    reason: "the last turn of each conversation is known"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodTally.ts",
    operator: "boundary",
    before: "a.key < b.key",
    line: ".toSorted((a, b) => b.cause.failed - a.cause.failed || (a.key < b.key ? -1 : 1))",
    reason: "a cause is listed once"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodTally.ts",
    operator: "boundary",
    before: "a.turnId > b.turnId",
    line: "a.endedAt > b.endedAt || (a.endedAt === b.endedAt && a.turnId > b.turnId)",
    reason: "no two turns have the same id"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/PeriodText.ts",
    operator: "boundary",
    before: "cost >= 0.001",
    line: "const digits = cost >= 1 ? cost.toFixed(2) : cost === 0 || cost >= 0.001 ? cost.toFixed(4) : cost.toPrecision(2)",
    reason: "a tenth of a cent has two digits and four decimals in both notations"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/SpendTally.ts",
    operator: "boundary",
    before: "a.name < b.name",
    line: "}).toSorted((a, b) => (a.name < b.name ? -1 : 1))",
    reason: "a model is listed once"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Timeline.ts",
    operator: "constant",
    before: "1",
    line: "let counted = -1",
    reason: "no part is before the first"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Timeline.ts",
    operator: "constant",
    before: "0",
    line: "this.changes[first] = (this.changes[first] ?? 0) + 1",
    reason: "the index is within the parts"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Timeline.ts",
    operator: "constant",
    before: "0",
    line: "this.changes[last + 1] = (this.changes[last + 1] ?? 0) - 1",
    reason: "the index is within the parts"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Timeline.ts",
    operator: "constant",
    before: "0",
    line: "const count = (counts: Array<number>, part: number): void => void (counts[part] = (counts[part] ?? 0) + 1)",
    reason: "the index is within the parts"
  },
  {
    path: "apps/session-orchestrator/src/ops/telemetry/incidents/Incidents.ts",
    operator: "constant",
    before: "0",
    line: "const { outcomes = Notice.NO_OUTCOMES, waiting = 0 } = log ?? {}",
    reason: "without the log, each notice is given its own number of waiting turns"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/TurnTable.ts",
    operator: "constant",
    before: "1",
    line: 'uncounted: status === "failed" ? 1 : null',
    reason: "the column is read as null or not"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/TurnTable.ts",
    operator: "constant",
    before: "0",
    line: "after_event_id: tail?.lastEventId ?? 0,",
    reason: "the table refuses a turn of an unknown conversation, whatever its other columns are"
  },
  {
    path: "apps/session-orchestrator/src/storage/TurnLog.ts",
    operator: "constant",
    before: "0",
    line: "const rows = turns.map((turn) => ({ ...turn, number: ends.get(turn.turnId)?.number ?? 0 }))",
    reason: "the turns have just been written, and each has a number"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/ConversationTable.ts",
    operator: "constant",
    before: "0",
    line: "conversations.map(({ conversationId, labels }) => ({ number: numbers.get(conversationId) ?? 0, labels }))",
    reason: "the conversations have just been written, and each has a number"
  },
  {
    path: "apps/session-orchestrator/src/storage/Deletions.ts",
    operator: "dropped",
    before: "break",
    line: "if (some.length === 0) break",
    reason: "a round without turns deletes nothing, and is the last for its length"
  },
  {
    path: "apps/session-orchestrator/src/storage/Deletions.ts",
    operator: "dropped",
    before: "break",
    line: "if (some.length < TURNS) break",
    reason: "the next round finds no turn, and is the last"
  },
  {
    path: "apps/session-orchestrator/src/storage/Deletions.ts",
    operator: "boundary",
    before: "from < (row.lastEvent ?? 0)",
    line: "for (let from = 0; from < (row.lastEvent ?? 0); from += EVENTS)",
    reason: "no event follows the last one"
  },
  {
    path: "apps/session-orchestrator/src/storage/Deletions.ts",
    operator: "constant",
    before: "1_000",
    line: "const EVENTS = 1_000",
    reason: "how many rows one statement deletes: all of them are deleted in one transaction"
  },
  {
    path: "apps/session-orchestrator/src/storage/Deletions.ts",
    operator: "constant",
    before: "500",
    line: "const TURNS = 500",
    reason: "how many turns one statement deletes: all of them are deleted in one transaction"
  },
  {
    path: "apps/session-orchestrator/src/storage/IncidentStates.ts",
    operator: "boundary",
    before: "removed.length > 0",
    line: 'if (removed.length > 0) yield* sql`DELETE FROM incidents WHERE ${sql.in("endpoint", removed)}`',
    reason: "no row is in an empty list"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/EventTable.ts",
    operator: "constant",
    before: "1",
    line: "const lastOf = ({ turnId }: Append): number => ends.get(turnId)?.lastPosition ?? -1",
    reason: "no position is below 0"
  },
  {
    path: "apps/session-orchestrator/src/storage/AnsweredCalls.ts",
    operator: "boundary",
    before: "a.target < b.target",
    line: "const inOrder = added.toSorted((a, b) => a.hour - b.hour || (a.target < b.target ? -1 : 1))",
    reason: "a target is there once in an hour, so no two are equal"
  },
  {
    path: "apps/session-orchestrator/src/storage/AnsweredCalls.ts",
    operator: "comparison",
    before: "a.target < b.target",
    line: "const inOrder = added.toSorted((a, b) => a.hour - b.hour || (a.target < b.target ? -1 : 1))",
    reason: "the order backwards prevents the same deadlock, and the rows come to the same"
  },
  {
    path: "apps/session-orchestrator/src/ops/delivery/Deliveries.ts",
    operator: "constant",
    before: "true",
    line: "defect: true",
    reason: "of a failed delivery its message, status, hint and whether it is retried are read, and never its defect"
  },
  {
    path: "apps/session-orchestrator/src/ops/telemetry/incidents/Notifications.ts",
    operator: "constant",
    before: "false",
    line: "let isAlone = false",
    reason: "`keep` sets it before the log has answered, and without an answer it changes nothing"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/ReplayedTurn.ts",
    operator: "branch",
    before: 'a._tag === "Retry" && b._tag === "Retry"',
    line: 'a._tag === "Retry" && b._tag === "Retry"',
    reason: "a retry has the number of its attempt, and the end of a turn has none"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/ReplayedTurn.ts",
    operator: "branch",
    before: 'a._tag === "GiveUp" && b._tag === "GiveUp"',
    line: ': a._tag === "GiveUp" && b._tag === "GiveUp" && a.because === b.because',
    reason: "the end of a turn has a cause, and a retry has none"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/ReplayedTurn.ts",
    operator: "dropped",
    before: "this.route = { target }",
    line: "this.route = { target }",
    reason: "the first call sets it before a decision is compared"
  },
  {
    path: "apps/session-orchestrator/src/storage/Recording.ts",
    operator: "boundary",
    before: "n < newest.length",
    line: "for (let n = 0; n < newest.length; n += BATCH) {",
    reason: "a batch of no turns adds none"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/Picture.ts",
    operator: "boundary",
    before: "turns.length <= MOST_ROWS",
    line: "turns.length <= MOST_ROWS",
    reason: "an even sample of as many turns as are drawn has each of them"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/DryRunText.ts",
    operator: "boundary",
    before: "ms < 60_000",
    line: "duration: (ms) => DurationText.format(ms < 60_000 ? ms : Math.round(ms / 1000) * 1000),",
    reason: "a minute is a whole second"
  },
  {
    path: "apps/session-orchestrator/src/cli/client/Submit.ts",
    operator: "constant",
    before: "0",
    line: "({ status }) => OF_ONE.has(status ?? 0),",
    reason: "no refusal of one prompt has the status 0 or 1"
  },
  {
    path: "apps/session-orchestrator/src/config/reading/Sources.ts",
    operator: "branch",
    before: 'typeof content !== "object" || content === null',
    line: 'if (typeof content !== "object" || content === null || key === undefined) return content',
    reason: "only a path that exists is left out, so every value on it is an object or a list"
  },
  {
    path: "apps/session-orchestrator/src/config/reading/JsonText.ts",
    operator: "dropped",
    before: "throw fault",
    line: "throw fault",
    reason: "the parser throws no fault of its own: nesting ends before its recursion could"
  },
  {
    path: "apps/session-orchestrator/src/config/reading/JsonText.ts",
    operator: "dropped",
    before: "return",
    line: "if (around === undefined) return",
    reason: "a key is always inside an object: the check is for the compiler"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/DryRun.ts",
    operator: "boundary",
    before: "n < most",
    line: "for (let n = 0; n < most; n++)",
    reason: "how much is done between two pauses is a matter of time"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/DryRun.ts",
    operator: "constant",
    before: "0",
    line: "private characters = 0",
    reason: "a character more or less of a bound on memory"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/DryRun.ts",
    operator: "boundary",
    before: "this.characters >= MOST_CHARACTERS",
    line: "return this.attempts >= this.options.mostCalls || this.characters >= MOST_CHARACTERS",
    reason: "a character more or less of a bound on memory"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/Trial.ts",
    operator: "constant",
    before: "1",
    line: "inSlices(() => dryRun.step(1)),",
    reason: "how much is done between two looks at the clock is a matter of time"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/Trial.ts",
    operator: "boundary",
    before: "performance.now() < end",
    line: "while (!isOver && performance.now() < end) isOver = !step()",
    reason: "how much is done between two pauses is a matter of time"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/Trial.ts",
    operator: "constant",
    before: "5",
    line: "const SLICE_MS = 5",
    reason: "how much is done between two pauses is a matter of time"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/DryTurn.ts",
    operator: "dropped",
    before: "isOver = true",
    line: "isOver = true",
    reason: "to stop a fiber that has ended does nothing"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/DryTurn.ts",
    operator: "constant",
    before: "true",
    line: "isOver = true",
    reason: "to stop a fiber that has ended does nothing"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/Replay.ts",
    operator: "constant",
    before: "0",
    line: "for (const one of counts) for (const [key, n] of one) sums.set(key, Math.max(sums.get(key) ?? 0, n))",
    reason: "a count is at least 1"
  },
  {
    path: "apps/session-orchestrator/src/insight/dry-run/DryTurnCourse.ts",
    operator: "constant",
    before: "0",
    line: "now = times.reduce<number>((last, time = 0) => Math.max(last, time), now)",
    reason: "the latest moment of a course is later than the clock's first"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/Words.ts",
    operator: "constant",
    before: "0",
    line: 'type === "elapsed" && at !== undefined ? at - due - heldMs : 0',
    reason: "a millisecond is not late, and nothing else is asked where no wait has elapsed"
  },
  {
    path: "apps/session-orchestrator/src/insight/inspection/period/Timeline.ts",
    operator: "constant",
    before: "1",
    line: "private readonly changes = zeros(PARTS + 1)",
    reason: "a part after the last is not read"
  },
  {
    path: "apps/session-orchestrator/src/ops/telemetry/incidents/Notifications.ts",
    operator: "constant",
    before: "false",
    line: "let isUrgent = false",
    reason: "the first round sets it before it is read"
  },
  {
    path: "apps/session-orchestrator/src/ops/telemetry/incidents/Notifications.ts",
    operator: "dropped",
    before: "return",
    line: "if (before === key) return",
    reason: "a turn that leaves an endpoint and comes back to it leaves its count as it was"
  },
  {
    path: "apps/session-orchestrator/src/ops/telemetry/incidents/Notifications.ts",
    operator: "constant",
    before: "0",
    line: "const isUnwatched = !counts.has(key) && (looks.get(key)?.nextAt ?? 0) <= at",
    reason: "the clock is past its first moment"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/TurnListTable.ts",
    operator: "dropped",
    before: "continue",
    line: "if (turn === undefined || confirmed.has(number)) continue",
    reason: "a second message of a turn confirms the same number again"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/TurnListTable.ts",
    operator: "branch",
    before: "(tag === undefined && conversationId === undefined) || (since === undefined && status === undefined)",
    line: "if ((tag === undefined && conversationId === undefined) || (since === undefined && status === undefined))",
    reason: "the condition that is added holds for all that the index answers"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/TurnListTable.ts",
    operator: "constant",
    before: "0",
    line: "if (status === undefined) return sql`t.accepted_at >= ${since ?? 0}`",
    reason: "one of `since` and `status` is there"
  },
  {
    path: "apps/session-orchestrator/src/ops/delivery/Deliveries.ts",
    operator: "constant",
    before: "0",
    line: "return Math.max(Backoff.delayAt(waits, failedAttempts - 1), Math.min(hint?.retryAfterMs ?? 0, longestHintMs))",
    reason: "a wait of the schedule is longer than a millisecond"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/Keyset.ts",
    operator: "constant",
    before: "1",
    line: "const step = matching(sql, filter) === undefined ? limit + 1 : STEP",
    reason: "how many rows are read at once is a matter of time: a page is cut to its limit"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/Keyset.ts",
    operator: "constant",
    before: "1",
    line: "like(sql, column, `%${escaped(JSON.stringify(text).slice(1, -1))}%`)",
    reason: "a text that is shorter finds more candidates, of which each is confirmed"
  },
  {
    path: "apps/session-orchestrator/src/storage/ConversationRetention.ts",
    operator: "constant",
    before: "0",
    line: "const from: Position | undefined = tag === undefined ? { at: before, number: 0 } : undefined",
    reason: "numbers of conversations begin at 1"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/EventTable.ts",
    operator: "constant",
    before: "2_147_483_647",
    line: "export const MAX_ID = 2_147_483_647",
    reason: "no event has a larger number"
  },
  {
    path: "apps/session-orchestrator/src/storage/tables/RecordTable.ts",
    operator: "constant",
    before: "2_147_483_647",
    line: "const ANY = 2_147_483_647",
    reason: "no value is longer"
  },
  {
    path: "apps/session-orchestrator/src/engine/orchestrator/ConversationViews.ts",
    operator: "constant",
    before: "0",
    line: "const { route } = Routes.begin(policy, question, { credentials, models, standing, countTokens: () => 0 }, now)",
    reason: "every window has room for a token"
  },
  {
    path: "apps/session-orchestrator/src/http/body/StaticFile.ts",
    operator: "constant",
    before: "0",
    line: 'version: createHash("sha256").update(bytes).digest("hex").slice(0, 16),',
    reason: "any part of a hash distinguishes contents"
  },
  {
    path: "apps/session-orchestrator/src/http/body/StaticFile.ts",
    operator: "constant",
    before: "16",
    line: 'version: createHash("sha256").update(bytes).digest("hex").slice(0, 16),',
    reason: "any part of a hash distinguishes contents"
  },
  {
    path: "apps/session-orchestrator/src/acp/AcpSession.ts",
    operator: "dropped",
    before: "break",
    line: "break",
    reason: "only an empty `default` follows"
  },
  {
    path: "apps/session-orchestrator/src/acp/AcpAgent.ts",
    operator: "constant",
    before: "true",
    line: 'signal.addEventListener("abort", () => void answer(session.cancel), { once: true })',
    reason: "a signal aborts once"
  },
  {
    path: "apps/session-orchestrator/src/http/socket/SocketSession.ts",
    operator: "constant",
    before: "0",
    line: "for (let silent = 0; silent < MOST_SILENT; silent++) {",
    reason: "the first round sets it anew: nothing was received before"
  },
  {
    path: "apps/session-orchestrator/src/gateway/LocalWaits.ts",
    operator: "dropped",
    before: "givenUp.delete(given)",
    line: "for (const [given, { at }] of givenUp) if (at + KEPT_MS <= now) givenUp.delete(given)",
    reason: "what has expired is not found either: this frees memory"
  },
  {
    path: "apps/session-orchestrator/src/gateway/LocalWaits.ts",
    operator: "constant",
    before: "0",
    line: "const sinceOf = ({ conversationId }: Wait): number => HeldCallIds.read(conversationId)?.since ?? 0",
    reason: "a call that is held has its beginning"
  },
  {
    path: "apps/session-orchestrator/src/http/page/PageFiles.ts",
    operator: "branch",
    before: 'error instanceof Error && "code" in error',
    line: 'if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined',
    reason: "every error with the code `ENOENT` is an `Error`"
  }
]

/** Why a proposal is passed over; `undefined` when it is not. */
export const reasonFor = (
  proposal: Proposal,
  node: Node,
  ancestors: ReadonlyArray<Node>,
  path: string,
  text: string
): string | undefined => {
  const rule = rules.find(({ covers }) => covers(proposal, node, ancestors, text))
  if (rule !== undefined) return rule.reason
  const before = oneLine(text.slice(proposal.start, proposal.end))
  const line = text
    .slice(text.lastIndexOf("\n", proposal.start) + 1)
    .split("\n", 1)[0]
    ?.trim()
  const isIt = (entry: Listed) =>
    entry.path === path && entry.operator === proposal.operator && entry.before === before && entry.line === line
  return listed.find(isIt)?.reason
}

/** Code on one line. */
export const oneLine = (code: string): string => code.replaceAll(/\s+/g, " ").trim()

// --- internal

/** The function by which a list is sorted. */
const isOrder = (node: Node | undefined): boolean =>
  node?.type === "CallExpression" &&
  node.callee.type === "MemberExpression" &&
  node.callee.property.type === "Identifier" &&
  /^(?:toSorted|sort)$/.test(node.callee.property.name)

const isLoop = (node: Node | undefined): boolean =>
  node !== undefined && /^(?:For|While|DoWhile|ForOf|ForIn)Statement$/.test(node.type)

const isFunction = (node: Node | undefined): boolean =>
  node !== undefined && /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)
