"""What the state routes are told of a lane: its slots, its prefix cache, and what that holds."""

from __future__ import annotations

from dataclasses import asdict

from troth.engines.base import CacheReport, ConversationReport, Decoder, SlotReport
from troth.scheduler.prefix_cache import PrefixCache, Saved
from troth.scheduler.request import Choice


def cache_report(cache: PrefixCache, *, can_cut: bool, moves: int) -> CacheReport:
    """The prefix cache now."""
    saved = cache.conversations()
    return CacheReport(
        is_on=cache.is_on,
        can_cut=can_cut,
        entries=len(saved),
        size_bytes=cache.size,
        budget_bytes=cache.limits.budget_bytes,
        held_entries=sum(each.tag.handle is not None for each in saved),
        memory_entries=sum(each.state is not None for each in saved),
        disk_entries=sum(each.is_filed for each in saved),
        disk_bytes=cache.disk_size,
        disk_budget_bytes=cache.disk_budget,
        moves=moves,
        **asdict(cache.counters),
    )


def conversation_report(saved: Saved) -> ConversationReport:
    """One saved state."""
    return ConversationReport(
        id=saved.id,
        label=saved.tag.label,
        handle=saved.tag.handle,
        tokens=len(saved.tokens),
        size_bytes=saved.size,
        hits=saved.hits,
        created_at=saved.created_at,
        used_at=saved.used_at,
        in_memory=saved.state is not None,
        on_disk=saved.is_filed,
    )


def slot_report(slot: int, decoder: Decoder, choice: Choice | None) -> SlotReport:
    """The slot now, and the request that has it."""
    if choice is None:
        return SlotReport(id=slot, context_tokens=decoder.context_tokens)
    request, job = choice.request, choice.request.job
    return SlotReport(
        id=slot,
        context_tokens=decoder.context_tokens,
        task=request.arrival,
        prompt_tokens=request.prompt_tokens,
        cached_tokens=request.cached_tokens,
        read_tokens=request.read_tokens,
        answer_tokens=len(choice.said),
        answer_tokens_max=job.prompt.answer_tokens,
        has_newline=any(b"\n" in decoder.vocabulary.spoken(token) for token in choice.said),
        sampling=job.sampling,
        handle=job.tag.handle,
    )
