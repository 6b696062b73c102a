// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const retryDelay = 10 * time.Millisecond

func open(wanted openRequest) (handle, error) {
	clients := make([]*redis.Client, 0, len(wanted.URLs))
	for _, url := range wanted.URLs {
		options, err := redis.ParseURL(url)
		if err != nil {
			return nil, err
		}
		clients = append(clients, redis.NewClient(options))
	}
	switch wanted.Library {
	case "redsync":
		pools := make([]syncredis.Pool, 0, len(clients))
		for _, client := range clients {
			pools = append(pools, goredis.NewPool(client))
		}
		return &syncLock{maker: redsync.New(pools...), name: wanted.Name}, nil
	case "redislock":
		if len(clients) != 1 {
			return nil, fmt.Errorf("redislock was given %d servers; expected one", len(clients))
		}
		return &bsmLock{client: redislock.New(clients[0]), name: wanted.Name}, nil
	}
	return nil, fmt.Errorf("there is no library %q; expected redsync or redislock", wanted.Library)
}

// syncLock is redsync's mutex, which is told its lease when it is made.
type syncLock struct {
	maker *redsync.Redsync
	name  string
	mutex *redsync.Mutex
}

func (l *syncLock) acquire(wait, lease time.Duration) (bool, error) {
	tries := int(wait/retryDelay) + 1
	mutex := l.maker.NewMutex(l.name, redsync.WithExpiry(lease), redsync.WithTries(tries),
		redsync.WithRetryDelay(retryDelay))
	err := mutex.Lock()
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) {
		return false, nil
	}
	if err == nil {
		l.mutex = mutex
	}
	return err == nil, err
}

func (l *syncLock) extend(lease time.Duration) (bool, error) {
	redsync.WithExpiry(lease).Apply(l.mutex)
	extended, err := l.mutex.Extend()
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrExtendFailed) {
		return false, nil
	}
	return extended, err
}

func (l *syncLock) release() (bool, error) {
	released, err := l.mutex.Unlock()
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrLockAlreadyExpired) {
		return false, nil
	}
	return released, err
}

func (l *syncLock) ttl() (time.Duration, error) {
	return time.Until(l.mutex.Until()), nil
}

// bsmLock is what bsm/redislock obtains.
type bsmLock struct {
	client *redislock.Client
	name   string
	lock   *redislock.Lock
}

func (l *bsmLock) acquire(wait, lease time.Duration) (bool, error) {
	limit, cancel := context.WithTimeout(context.Background(), wait+time.Second)
	defer cancel()
	retries := redislock.LimitRetry(redislock.LinearBackoff(retryDelay), int(wait/retryDelay))
	lock, err := l.client.Obtain(limit, l.name, lease, &redislock.Options{RetryStrategy: retries})
	// On a busy machine the time is over before the retries are.
	if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	if err == nil {
		l.lock = lock
	}
	return err == nil, err
}

func (l *bsmLock) extend(lease time.Duration) (bool, error) {
	err := l.lock.Refresh(context.Background(), lease, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	return err == nil, err
}

func (l *bsmLock) release() (bool, error) {
	err := l.lock.Release(context.Background())
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return false, nil
	}
	return err == nil, err
}

func (l *bsmLock) ttl() (time.Duration, error) {
	return l.lock.TTL(context.Background())
}
