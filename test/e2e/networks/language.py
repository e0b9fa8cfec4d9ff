"""Small networks over tokens: BERT and a Llama-style decoder from Hugging Face's transformers, a mixture of experts with TopK routing, an
LSTM classifier, and a sequence-to-sequence GRU with attention that decodes step by step."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForCausalLM

VOCABULARY, LENGTH, CLASSES = 61, 11, 7  # no vector's, no tile's multiples


class Bert(nn.Module):
    """An encoder that sees only the words of each text, not its padding; one class per text."""

    def __init__(self):
        super().__init__()
        config = BertConfig(vocab_size=VOCABULARY, hidden_size=18, num_hidden_layers=2, num_attention_heads=3, intermediate_size=50,
                            max_position_embeddings=LENGTH, num_labels=CLASSES, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
                            initializer_range=0.2, attn_implementation="eager")
        self.bert = BertForSequenceClassification(config)

    def forward(self, tokens, mask):
        return self.bert(input_ids=tokens, attention_mask=mask).logits


class Llama(nn.Module):
    """A decoder with RMS norms, rotary positions, SwiGLU, and two heads of keys and values for four heads of queries; predicts the next
    token."""

    def __init__(self):
        super().__init__()
        config = LlamaConfig(vocab_size=VOCABULARY, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                             intermediate_size=50, max_position_embeddings=LENGTH, use_cache=False, initializer_range=0.2,
                             attn_implementation="eager")
        self.llama = LlamaForCausalLM(config)

    def forward(self, tokens):
        return self.llama(input_ids=tokens).logits


class Experts(nn.Module):
    """Two of four experts per token, weighted by the router's softmax over those two."""

    def __init__(self, width=16, hidden=22, experts=4):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, width)
        self.norm = nn.LayerNorm(width)
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, hidden) * 0.2)
        self.down = nn.Parameter(torch.randn(experts, hidden, width) * 0.2)
        self.out = nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        x = self.table(tokens)
        scores, chosen = torch.topk(self.router(self.norm(x)), 2, -1)
        zeros = torch.zeros(*x.shape[:2], self.up.shape[0], dtype=x.dtype)
        weights = zeros.scatter(-1, chosen, scores.softmax(-1))
        hidden = F.silu(torch.einsum("nld,edh->nleh", self.norm(x), self.up))
        return self.out(x + torch.einsum("nleh,ehd,nle->nld", hidden, self.down, weights))


class LstmClassifier(nn.Module):
    """One class per text, from the last state of an LSTM."""

    def __init__(self, width=12, hidden=17):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, width)
        self.lstm = nn.LSTM(width, hidden, batch_first=True)
        self.out = nn.Linear(hidden, CLASSES)

    def forward(self, tokens):
        return self.out(self.lstm(self.table(tokens))[1][0][0])


class Translator(nn.Module):
    """A bidirectional GRU reads; a second GRU writes, and attends to the text before each word. The previous words are given."""

    def __init__(self, width=12, hidden=18):
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, width), nn.Embedding(VOCABULARY, width)
        self.encoder = nn.GRU(width, hidden // 2, bidirectional=True, batch_first=True)
        self.decoder = nn.GRU(width + hidden, hidden, batch_first=True)
        self.key, self.query, self.score = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1)
        self.out = nn.Linear(2 * hidden, VOCABULARY)

    def forward(self, tokens, previous):
        read, last = self.encoder(self.source(tokens))
        state, keys, words = torch.cat([last[0], last[1]], 1).unsqueeze(0), self.key(read), []
        embedded = self.target(previous)
        for i in range(previous.shape[1]):
            weights = self.score(torch.tanh(keys + self.query(state[0]).unsqueeze(1))).softmax(1)
            context = (weights * read).sum(1, keepdim=True)
            written, state = self.decoder(torch.cat([embedded[:, i:i + 1], context], 2), state)
            words.append(self.out(torch.cat([written, context], 2)))
        return torch.cat(words, 1)
